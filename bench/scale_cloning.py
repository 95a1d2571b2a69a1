"""Fills the stores of a stopped `hanse up`: what runs in each cluster runs there as many times as asked for.

Tens of thousands of pods are started by a simulated cluster as they are by any other, one by one. Here the first of
them is copied within the stores, with new names, addresses and nodes, and all that counts pods is told the new number.
"""

from __future__ import annotations

import asyncio
import ipaddress
from pathlib import Path
from typing import Any

import orjson

from hanse.apiserver import SqliteStorage
from hanse.apiserver.storage.interface import Record
from hanse.kube.runtime import SystemRuntime
from hanse.simulator.nodes.pod_status import is_running

_COUNTERS = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "fullyLabeledReplicas")
_DESIRED, _MOST = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
_WORKLOADS = ("apps/deployments", "apps/replicasets")
_PODS, _NODES = "core/pods", "core/nodes"


async def clone_pods(store: Path, pods: int) -> None:
    """Have a cluster run so many of the one pod that it runs."""
    storage = SqliteStorage(store)
    runtime = SystemRuntime()
    await storage.open(runtime, lambda _change: None)
    try:
        nodes = sorted(record.path for record in storage.scan(_NODES) if not _decoded(record)["spec"].get("taints"))
        (first,) = (each for each in storage.scan(_PODS, "default/") if is_running(_decoded(each)))
        wanted = [_clone(_decoded(first), number, nodes, runtime.uid()) for number in range(1, pods)]
        await asyncio.gather(
            *(storage.write(_PODS, f"default/{pod['metadata']['name']}", _encoded(pod), 0) for pod in wanted)
        )
        await _count(storage, pods)
    finally:
        await storage.close()


async def count_pods(store: Path, pods: int) -> None:
    """Have a federation's own Deployments ask for so many pods, and say that all of them are there."""
    storage = SqliteStorage(store)
    await storage.open(SystemRuntime(), lambda _change: None)
    try:
        await _count(storage, pods)
    finally:
        await storage.close()


async def _count(storage: SqliteStorage, pods: int) -> None:
    for bucket in _WORKLOADS:
        for record in storage.scan(bucket, "default/"):
            obj = _decoded(record)
            obj["spec"]["replicas"] = pods
            obj["status"] |= {name: pods for name in _COUNTERS if name in obj["status"]}
            annotations = obj["metadata"].get("annotations", {})
            if _DESIRED in annotations:
                annotations |= {_DESIRED: str(pods), _MOST: str(pods + -(-pods // 4))}
            await storage.write(bucket, record.path, _encoded(obj), record.revision)


def _clone(pod: dict[str, Any], number: int, nodes: list[str], uid: str) -> dict[str, Any]:
    metadata, address = pod["metadata"], str(ipaddress.ip_address(pod["status"]["podIP"]) + number)
    metadata |= {"name": f"{metadata['name']}-{number}", "uid": uid}
    pod["spec"]["nodeName"] = nodes[number % len(nodes)]
    pod["status"] |= {"podIP": address, "podIPs": [{"ip": address}]}
    return pod


def _decoded(record: Record) -> dict[str, Any]:
    obj: dict[str, Any] = orjson.loads(record.value)
    return obj


def _encoded(obj: dict[str, Any]) -> bytes:
    """Return an object as stores take it: its metadata first, and without a revision."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return orjson.dumps({"metadata": metadata} | {name: value for name, value in obj.items() if name != "metadata"})
