"""Letting go of a cluster that fetches its work: what it has is read from its Works, and taken away by them.

The control plane has let go of it by then; its agent goes on with what its Works say.
"""

from __future__ import annotations

from collections.abc import Mapping

from hanse.api.names import OWNER_ANNOTATION
from hanse.api.works import WORKS, agent_namespace
from hanse.clusters.account import MEMBER_LABEL
from hanse.clusters.leaving import Copy
from hanse.kube.client import Client, PatchType
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, annotations_of, labels_of, name_of, uid_of
from hanse.kube.resources import NAMESPACES
from hanse.propagation.comparison import Absent, Released
from hanse.propagation.works import answer_of, is_current, is_managed, ref_of, work_spec

_PAUSE_SECONDS = 0.25


async def told_copies(host: Client, name: str) -> list[Copy]:
    """Return what Hanse has in a cluster, as its agent told it last; Namespaces come last."""
    copies = []
    for work in (await host.list(WORKS, agent_namespace(name))).items:
        copy = answer_of(work).copy
        if copy is not None and is_managed(copy):
            ref = ref_of(work)
            copies.append(Copy(ref.resource, ref.key, uid_of(copy)))
    return sorted(copies, key=lambda copy: (copy.resource == NAMESPACES, str(copy)))


async def take_back(host: Client, name: str, patience: float) -> list[str]:
    """Have a cluster's agent delete its copies and wait for it; returns what remains, each with the reason.

    Namespaces stay, as the cluster's own: who else has something in them cannot be seen from here.
    """
    asked = {
        name_of(work): _leaving(work)
        for work in (await host.list(WORKS, agent_namespace(name))).items
        if is_managed(answer_of(work).copy)
    }
    end = host.runtime.monotonic() + patience
    while waiting := await _unconfirmed(host, name, asked):
        if host.runtime.monotonic() >= end:
            return [f"{ref_of(work)} ({answer_of(work).trouble or 'it is being deleted'})" for work in waiting]
        for work in waiting:
            # A control plane that has yet to hear that the cluster leaves may have said something else.
            if work["spec"] != asked[name_of(work)]:
                patch = [{"op": "replace", "path": "/spec", "value": asked[name_of(work)]}]
                await host.patch(WORKS, name_of(work), patch, agent_namespace(name), patch_type=PatchType.JSON)
        await host.runtime.sleep(_PAUSE_SECONDS)
    return []


async def remove_works(host: Client, name: str) -> None:
    """Remove what the host has for a cluster that fetches its work, and its agent's account with it."""
    namespace = await host.find(NAMESPACES, agent_namespace(name))
    if namespace is None or labels_of(namespace).get(MEMBER_LABEL) != name:
        return
    try:
        await host.delete(NAMESPACES, name_of(namespace), uid=uid_of(namespace))
    except NotFound:
        return


def _leaving(work: Obj) -> Obj:
    ref, owner = ref_of(work), annotations_of(answer_of(work).copy or work).get(OWNER_ANNOTATION, "")
    return work_spec(ref, Released(owner) if ref.resource == NAMESPACES else Absent(owner))


async def _unconfirmed(host: Client, name: str, asked: Mapping[str, Obj]) -> list[Obj]:
    works = (await host.list(WORKS, agent_namespace(name))).items
    return [work for work in works if name_of(work) in asked and not _is_done(work, asked[name_of(work)])]


def _is_done(work: Obj, asked: Obj) -> bool:
    return work["spec"] == asked and is_current(work) and answer_of(work).confirmed
