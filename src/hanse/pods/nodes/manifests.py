"""What a virtual node looks like: pure, from its target, the cluster behind that, and what all its nodes have together.

Labels and the taint are those by which Admiralty's users know such a node. The capacity is the sum of another cluster's
nodes, so it says what may fit there in all and never that one pod does.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of_package

from hanse.api.admiralty.keys import (
    NODE_CLUSTER_TARGET,
    NODE_TARGET_NAME,
    NODE_TARGET_NAMESPACE,
    NODE_TYPE,
    PROVIDER,
    PROVIDER_NAME,
    VIRTUAL,
)
from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import Cluster
from hanse.kube.conditions import condition, find_condition, merge_conditions
from hanse.kube.manifest import Obj
from hanse.kube.resources import NODES

# On a virtual node that is kept here: one of another kubelet's making is not ours to remove.
KEPT = "pods.hanse.dev/virtual-node"
TAINT: Obj = {"key": PROVIDER, "value": PROVIDER_NAME, "effect": "NoSchedule"}

_BASE_LABELS = {
    NODE_TYPE: VIRTUAL,
    PROVIDER: PROVIDER_NAME,
    "kubernetes.io/role": "cluster",
    # Load balancers of the cluster must not send traffic to a node behind which nothing listens.
    "alpha.service-controller.kubernetes.io/exclude-balancer": "true",
    "node.kubernetes.io/exclude-from-external-load-balancers": "true",
}
# API servers from 1.36 on pass WebSockets through to a node that says this, and speak SPDY to others.
_FEATURES = ["ExtendWebSocketsToKubelet"]
_HEALTHY = ("MemoryPressure", "DiskPressure", "PIDPressure")
_UNKNOWN_VERSION = "v0.0.0"


def _own_version() -> str:
    try:
        return version_of_package("hanse")
    except PackageNotFoundError:
        # Run from its folder, without having been installed.
        return "0"


_OWN_VERSION = _own_version()


@dataclass(frozen=True, slots=True)
class Shown:
    """What a target's nodes have together, as it is shown here."""

    labels: Mapping[str, str] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kubelet:
    """Where the server that answers for the pods of virtual nodes listens."""

    host: str
    port: int

    def address(self) -> Obj:
        """Return it as a Node tells it."""
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            return {"type": "InternalDNS", "address": self.host}
        return {"type": "InternalIP", "address": self.host}


def node_labels(target: TargetName, shown: Shown) -> dict[str, str]:
    """Return the labels of a target's node; what the node is wins over what its cluster's nodes have in common."""
    if target.namespace:
        named = {NODE_TARGET_NAMESPACE: target.namespace, NODE_TARGET_NAME: target.name}
    else:
        named = {NODE_CLUSTER_TARGET: target.name}
    return {**shown.labels, **_BASE_LABELS, **named}


def applied_labels(target: TargetName, shown: Shown) -> Obj:
    """Return what is applied to a node that is there: labels alone, since taints and cordons are others' too."""
    metadata = {"name": target.node, "labels": node_labels(target, shown), "annotations": {KEPT: "true"}}
    return {"apiVersion": NODES.api_version, "kind": NODES.kind, "metadata": metadata}


def shown_before(node: Obj, cluster: Cluster) -> Shown:
    """Return the room that a node shows already; that of its cluster where it shows none."""
    status: Obj = node.get("status") or {}
    return Shown({}, status.get("capacity") or cluster.capacity, status.get("allocatable") or cluster.capacity)


def node_status(cluster: Cluster, shown: Shown, kubelet: Kubelet | None, before: Obj, now: str) -> Obj:
    """Return a node's status; what is right already keeps its times, and conditions of others stay."""
    known: list[Obj] = before.get("conditions") or []
    told = [*_conditions(cluster, known)]
    conditions = merge_conditions(known, told, now) if _news(known, told) else known
    status = {
        **before,
        "capacity": dict(shown.capacity),
        "allocatable": dict(shown.allocatable),
        "conditions": [_with_heartbeat(entry, now) for entry in conditions],
        "addresses": [kubelet.address()] if kubelet else [],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port}} if kubelet else before.get("daemonEndpoints"),
        "nodeInfo": {**(before.get("nodeInfo") or {}), **_node_info(cluster)},
        "declaredFeatures": _FEATURES,
    }
    # What is empty is not stored, and would be news for ever.
    return {name: value for name, value in status.items() if value}


def node_of(target: TargetName, cluster: Cluster, shown: Shown, kubelet: Kubelet | None, *, now: str) -> Obj:
    """Return a target's Node as it is registered, tainted from its first moment on.

    Labels that come from the target are applied afterwards: what is given at birth could not be taken back that way.
    """
    return {
        "apiVersion": NODES.api_version,
        "kind": NODES.kind,
        "metadata": {"name": target.node, "labels": node_labels(target, Shown()), "annotations": {KEPT: "true"}},
        "spec": {"taints": [TAINT]},
        "status": node_status(cluster, shown, kubelet, {}, now),
    }


def _conditions(cluster: Cluster, known: list[Obj]) -> list[Obj]:
    sound = [
        condition(kind, False, "ClusterHasNone", "a whole cluster is never short of it as a node is")
        for kind in _HEALTHY
    ]
    return [*sound, _ready(cluster, find_condition(known, "Ready"))]


def _ready(cluster: Cluster, before: Obj | None) -> Obj:
    if not cluster.refusal:
        return condition("Ready", True, "ClusterReady", f"the API server of cluster {cluster.name} is ready")
    if not (cluster.offline or cluster.why):
        # Nobody has asked it yet: what was told last counts until somebody has.
        if before is not None and before.get("status") != "Unknown":
            return {key: before.get(key, "") for key in ("type", "status", "reason", "message")}
        return condition("Ready", False, "ClusterUnknown", f"cluster {cluster.name} has not answered yet")
    reason = "ClusterOffline" if cluster.offline else "ClusterNotReady"
    return condition("Ready", False, reason, f"cluster {cluster.name}: {cluster.refusal}")


def _news(known: list[Obj], told: list[Obj]) -> bool:
    """Tell whether anything but wording has changed: a cause that is told in other words each time is no news."""
    return any(
        (before := find_condition(known, entry["type"])) is None
        or (before.get("status"), before.get("reason")) != (entry["status"], entry["reason"])
        for entry in told
    )


def _with_heartbeat(entry: Obj, now: str) -> Obj:
    return entry if entry.get("lastHeartbeatTime") else {**entry, "lastHeartbeatTime": now}


def _node_info(cluster: Cluster) -> Obj:
    version = cluster.version.partition("+")[0] or _UNKNOWN_VERSION
    return {
        "architecture": "",
        "bootID": "",
        "containerRuntimeVersion": "",
        "kernelVersion": "",
        "kubeProxyVersion": "",
        "kubeletVersion": f"{version}+hanse.{_OWN_VERSION}",
        "machineID": cluster.uid,
        "operatingSystem": "linux",
        "osImage": f"Hanse: cluster {cluster.name}",
        "systemUUID": cluster.uid,
    }
