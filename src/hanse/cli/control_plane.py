"""The control plane put together: registry, doors and engine on one host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.api.clusters import CLUSTER_CRD
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.clusters.health import HealthTerms
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.errors import AlreadyExists
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.resources import CRDS, NAMESPACES
from hanse.kube.transport import Transport
from hanse.native import NativeDoor
from hanse.propagation.engine import Engine

HOST_CRDS: tuple[Obj, ...] = (CLUSTER_CRD,)
_ESTABLISHED_SECONDS = 30.0


def to_member(endpoint: Endpoint) -> Transport:
    """Connect to a member over the network."""
    return HttpTransport(endpoint, user_agent="hanse-controller")


async def prepare_host(host: Client) -> None:
    """Give a host what Hanse keeps there: its namespace and its kinds, served before this returns."""
    try:
        await host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}})
    except AlreadyExists:
        pass
    for crd in HOST_CRDS:
        await host.apply(CRDS, crd)
    async with asyncio.timeout(_ESTABLISHED_SECONDS):
        for crd in HOST_CRDS:
            while not is_true(dig(await host.get(CRDS, name_of(crd)), "status", "conditions"), "Established"):
                await host.runtime.sleep(0.1)


async def run_control_plane(
    host: Client,
    *,
    connect: Callable[[Endpoint], Transport] = to_member,
    health: HealthTerms | None = None,
) -> None:
    """Federate until cancelled; the host must be prepared."""
    registry = Registry(host, connect, health)
    engine = Engine(host, registry, NativeDoor())
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(registry.run())
        tasks.create_task(engine.run())
