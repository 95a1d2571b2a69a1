"""Closing the door of a source, in an order that leaves nothing stuck.

Admission goes first, so that no new placeholder comes. Placeholders are deleted while the control plane still looks
after them, which stops their pods elsewhere. Only what is left then is freed by force: what the control plane, or a
lost target, does not answer for any more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace

import orjson

from hanse.api.admiralty.keys import HAS_FINALIZER, JOB_MANAGER, PARENT_CLUSTER, PROVIDER, PROVIDER_NAME
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS, TARGETS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.plain_kinds import JOBS
from hanse.clusters.account import MEMBER_LABEL
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.errors import ApiError, Conflict, NotFound
from hanse.kube.manifest import (
    Obj,
    controller_of,
    dig,
    is_deleting,
    key_of,
    name_of,
    namespace_of,
    uid_of,
)
from hanse.kube.resources import LEASES, NAMESPACES, NODES, PODS, SERVICES, Resource
from hanse.pods.installing.releasing import BAGGAGE_KINDS, release_patch
from hanse.pods.installing.rights import DOOR_LABEL
from hanse.pods.placeholder.reading import is_placeholder

_NODE_LEASES = "kube-node-lease"
_ENDED = ("Succeeded", "Failed")
_PAUSE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Remaining:
    """The placeholders of a source when its door is to close."""

    running: tuple[Obj, ...] = ()
    waiting: tuple[Obj, ...] = ()
    ended: tuple[Obj, ...] = ()
    jobs: tuple[Obj, ...] = ()
    """The Jobs that run whole elsewhere and have not ended: nobody else can ever manage them."""

    @property
    def alive(self) -> tuple[Obj, ...]:
        """Those that stand for a pod that runs, or shall."""
        return self.running + self.waiting

    @property
    def ownerless(self) -> int:
        """How many nobody makes again once they are deleted."""
        return sum(controller_of(pod) is None for pod in self.alive)


def remaining(pods: Iterable[Obj]) -> Remaining:
    """Sort the placeholders among pods."""
    running, waiting, ended = list[Obj](), list[Obj](), list[Obj]()
    for pod in filter(is_placeholder, pods):
        is_over = dig(pod, "status", "phase") in _ENDED
        (ended if is_over else running if dig(pod, "spec", "nodeName") else waiting).append(pod)
    return Remaining(tuple(running), tuple(waiting), tuple(ended))


async def look_for_placeholders(member: Client) -> Remaining:
    """Return the placeholders that a source has, and its whole Jobs."""
    found = remaining((await member.list(PODS, labels=f"{HAS_FINALIZER}=true")).items)
    return replace(found, jobs=tuple(filter(is_unfinished, await listed(member, JOBS))))


def is_unfinished(job: Obj) -> bool:
    """Tell whether a Job runs whole elsewhere and has not ended."""
    conditions = dig(job, "status", "conditions", default=None)
    is_over = any(is_true(conditions, kind) for kind in ("Complete", "Failed"))
    return dig(job, "spec", "managedBy") == JOB_MANAGER and not is_over


async def delete_labelled(client: Client, kinds: Iterable[Resource], labels: str, namespace: str = "") -> list[str]:
    """Delete objects of some kinds by their labels; return what was there."""
    found = [(kind, obj) for kind in kinds for obj in await listed(client, kind, labels, namespace)]
    return [f"{kind.group_resource}/{key_of(obj)}" for kind, obj in found if await _delete(client, kind, obj)]


async def stop_placeholders(member: Client, patience: float) -> list[Obj]:
    """Delete the placeholders whose pods run or wait, and wait for them to go; return those that have not gone.

    Those that have ended stay: they are what their owners count.
    """

    async def left() -> list[Obj]:
        found = (await look_for_placeholders(member)).alive
        for pod in found:
            if not is_deleting(pod):
                await _delete(member, PODS, pod)
        return list(found)

    return await _until_empty(member, left, patience)


async def clear_target(target: Client, source: str, patience: float) -> list[Obj]:
    """Delete what a source still has running in a target, wait for it to end, and return what has not.

    What went with the pods goes after them.
    """

    async def left() -> list[Obj]:
        found = await listed(target, POD_CHAPERONS, f"{PARENT_CLUSTER}={source}")
        for chaperon in found:
            if not is_deleting(chaperon):
                await _delete(target, POD_CHAPERONS, chaperon)
        return found

    running = await _until_empty(target, left, patience)
    if not running:
        await delete_labelled(target, (SERVICES, *BAGGAGE_KINDS), f"{PARENT_CLUSTER}={source}")
    return running


async def release_all(member: Client, patience: float) -> list[Obj]:
    """Free whatever of a source is still held or led elsewhere; return what could not be freed."""

    async def left() -> list[Obj]:
        found = [(kind, obj, patch) for kind, obj in await _held(member) if (patch := release_patch(obj)) is not None]
        for kind, obj, patch in found:
            try:
                await member.patch(kind, name_of(obj), patch, namespace_of(obj))
            except ApiError:
                # Gone, or changed since, or refused by a policy that is on its way out: the next look tells.
                continue
        return [obj for _, obj, _ in found]

    return await _until_empty(member, left, patience)


async def remove_virtual_nodes(member: Client) -> list[str]:
    """Delete the Nodes that stood for targets, and their Leases."""
    nodes = await delete_labelled(member, (NODES,), f"{PROVIDER}={PROVIDER_NAME}")
    for path in nodes:
        name = path.rpartition("/")[2]
        lease = await member.find(LEASES, name, _NODE_LEASES)
        if lease is not None:
            await _delete(member, LEASES, lease)
    return nodes


async def remove_door(client: Client, kinds: Iterable[Resource], door: str, cluster: str) -> list[str]:
    """Delete what was made for the door of a cluster, by its labels."""
    found = []
    for kind in kinds:
        namespaces = (SYSTEM_NAMESPACE, _NODE_LEASES, "kube-system") if kind.namespaced else ("",)
        for namespace in namespaces:
            found += await delete_labelled(client, (kind,), f"{DOOR_LABEL}={door},{MEMBER_LABEL}={cluster}", namespace)
    return found


async def delete_named(client: Client, kind: Resource, name: str, namespace: str = "") -> bool:
    """Delete one object; False where there is none, or no such kind."""
    try:
        await client.delete(kind, name, namespace)
    except NotFound:
        return False
    return True


async def listed(client: Client, kind: Resource, labels: str = "", namespace: str = "") -> list[Obj]:
    """List objects; of a kind that is not served there are none."""
    try:
        return (await client.list(kind, namespace, labels=labels)).items
    except NotFound:
        return []


async def _held(member: Client) -> list[tuple[Resource, Obj]]:
    """Return whatever may be held: placeholders by their label, of everything else no more than its metadata."""
    held = [(PODS, obj) for obj in await listed(member, PODS, f"{HAS_FINALIZER}=true")]
    held += [(SERVICES, obj) for obj in await listed(member, SERVICES)]
    return held + [
        (kind, obj)
        for kind in (*BAGGAGE_KINDS, NAMESPACES, TARGETS, CLUSTER_TARGETS)
        for obj in await _metadata(member, kind)
    ]


async def _metadata(member: Client, kind: Resource) -> list[Obj]:
    try:
        async with aclosing(member.pages(kind, metadata_only=True)) as pages:
            return [orjson.loads(memoryview(item)) async for page in pages for item in page.items or ()]
    except NotFound:
        return []


async def _delete(client: Client, kind: Resource, obj: Obj) -> bool:
    try:
        await client.delete(kind, name_of(obj), namespace_of(obj), uid=uid_of(obj))
    except (NotFound, Conflict):
        return False
    return True


async def _until_empty(client: Client, left: Callable[[], Awaitable[list[Obj]]], patience: float) -> list[Obj]:
    """Look again and again until nothing is left, or patience is; return what was left last."""
    runtime = client.runtime
    end = runtime.monotonic() + patience
    while (found := await left()) and runtime.monotonic() < end:
        await runtime.sleep(_PAUSE_SECONDS)
    return found
