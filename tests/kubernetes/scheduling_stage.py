"""Sets up a scheduling case on a real API server, and clears it away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hanse.kube import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, name_of, namespace_of
from hanse.kube.resources import NODES, PODS
from tests.unit.simulator.scheduling_cases import Case


@asynccontextmanager
async def staged(client: Client, case: Case) -> AsyncIterator[None]:
    """Have a case's nodes, pods and objects there for the length of a block, its pod last."""
    made: list[Obj] = []
    try:
        for wanted in (*case.objects, *case.nodes, *case.pods, case.pod):
            made.append(wanted)
            await _make(client, wanted)
        yield
    finally:
        for obj in reversed(made):
            await _remove(client, obj)


async def _make(client: Client, wanted: Obj) -> None:
    resource = await client.resource_of(wanted)
    created = await client.create(resource, wanted)
    if resource == NODES:
        # Admission taints new nodes as not ready; what the case says of taints counts.
        await client.patch(NODES, name_of(wanted), {"spec": {"taints": wanted["spec"].get("taints")}})
    if wanted.get("status") and resource != PODS:
        body = {"status": wanted["status"]}
        await client.patch(resource, name_of(created), body, namespace_of(wanted), subresource="status")


async def _remove(client: Client, obj: Obj) -> None:
    resource = await client.resource_of(obj)
    try:
        if resource.plural.startswith("persistentvolume"):
            await client.patch(resource, name_of(obj), {"metadata": {"finalizers": None}}, namespace_of(obj))
        await client.delete(resource, name_of(obj), namespace_of(obj), grace_seconds=0)
    except NotFound:
        return
