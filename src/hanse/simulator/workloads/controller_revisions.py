"""The history of StatefulSets and DaemonSets: one ControllerRevision for each template, as `kubectl rollout` reads it.

The present template's revision always has the highest number: a return to an old template gives its revision the next
one. What is to be written is decided by `plan_history`; `settle_history` writes it and returns the history as it is
then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, NotFound
from hanse.kube.manifest import Obj, annotations_of, controller_of, dig, name_of, namespace_of, owner_reference, uid_of
from hanse.kube.resources import Resource
from hanse.simulator.workloads.kinds import CONTROLLER_REVISIONS
from hanse.simulator.workloads.revisions import template_hash
from hanse.simulator.writing import write, write_status

# Which revision a pod is of: in a StatefulSet by the revision's name, in a DaemonSet by its hash.
POD_REVISION = "controller-revision-hash"

_REVISION_HASH = "controller.kubernetes.io/hash"
_LONGEST_NAME_PREFIX = 223


@dataclass(frozen=True, slots=True)
class HistoryPlan:
    """What is to be written so that the present template has the newest revision."""

    present: Obj | None = None
    create: Obj | None = None
    number: int = 0


def revision_data(workload: Obj) -> Obj:
    """Return the patch that brings a workload back to its present template.

    Its keys are in order: clients that look for the present revision compare it with their own byte by byte.
    """
    patch = {"spec": {"template": {**workload["spec"]["template"], "$patch": "replace"}}}
    ordered: Obj = orjson.loads(orjson.dumps(patch, option=orjson.OPT_SORT_KEYS))
    return ordered


def template_of(revision: Obj) -> Obj:
    """Return the template that a revision keeps."""
    template: Obj = dig(revision, "data", "spec", "template", default={})
    return {name: value for name, value in template.items() if name != "$patch"}


def by_number(revisions: Iterable[Obj]) -> list[Obj]:
    """Order revisions, the oldest first."""
    return sorted(
        revisions,
        key=lambda entry: (
            entry.get("revision", 0),
            entry["metadata"].get("creationTimestamp") or "",
            name_of(entry),
        ),
    )


def plan_history(workload: Obj, revisions: Sequence[Obj]) -> HistoryPlan:
    """Find the present template's revision; say what is to be created, or which number it shall have."""
    ordered = by_number(revisions)
    following = int(ordered[-1].get("revision", 0)) + 1 if ordered else 1
    data = revision_data(workload)
    same = [entry for entry in ordered if entry.get("data") == data]
    if not same:
        return HistoryPlan(create=new_revision(workload, following), number=following)
    present = same[-1]
    if present is ordered[-1]:
        return HistoryPlan(present=present, number=int(present.get("revision", 0)))
    return HistoryPlan(present=present, number=following)


def new_revision(workload: Obj, number: int) -> Obj:
    """Return the revision of a workload's present template."""
    template = workload["spec"]["template"]
    suffix = template_hash(template, int(dig(workload, "status", "collisionCount", default=0)))
    label = POD_REVISION if workload["kind"] == "DaemonSet" else _REVISION_HASH
    metadata: Obj = {
        "name": f"{name_of(workload)[:_LONGEST_NAME_PREFIX]}-{suffix}",
        "namespace": namespace_of(workload),
        "labels": {**dig(template, "metadata", "labels", default={}), label: suffix},
        "ownerReferences": [owner_reference(workload)],
    }
    if annotations_of(workload):
        metadata["annotations"] = annotations_of(workload)
    return {
        "apiVersion": CONTROLLER_REVISIONS.api_version,
        "kind": CONTROLLER_REVISIONS.kind,
        "metadata": metadata,
        "data": revision_data(workload),
        "revision": number,
    }


def hash_of(revision: Obj) -> str:
    """Return the hash by which a DaemonSet's pods name their revision."""
    return str((revision["metadata"].get("labels") or {}).get(POD_REVISION, ""))


def forgotten_revisions(revisions: Sequence[Obj], live: Iterable[str], limit: int | None) -> list[Obj]:
    """Return the revisions beyond the history limit, oldest first; live ones (by name) stay and do not count."""
    if limit is None:
        return []
    kept = set(live)
    past = [entry for entry in by_number(revisions) if name_of(entry) not in kept]
    return past[: max(0, len(past) - limit)]


async def settle_history(client: Client, kind: Resource, workload: Obj, revisions: Sequence[Obj]) -> list[Obj]:
    """Write what the history lacks and return it, the present template's revision last."""
    plan = plan_history(workload, revisions)
    if plan.create is not None:
        present = await _create(client, kind, workload, plan.create)
    elif plan.present is not None and plan.present.get("revision") != plan.number:
        present = await write(client, CONTROLLER_REVISIONS, plan.present, {"revision": plan.number})
    else:
        return by_number(revisions)
    return [*(entry for entry in by_number(revisions) if name_of(entry) != name_of(present)), present]


async def _create(client: Client, kind: Resource, workload: Obj, revision: Obj) -> Obj:
    try:
        return await client.create(CONTROLLER_REVISIONS, revision)
    except AlreadyExists:
        there = await client.find(CONTROLLER_REVISIONS, name_of(revision), namespace_of(revision))
        if there is not None and there.get("data") == revision["data"]:
            return await _adopt(client, workload, there)
        # Another template has this hash: the count of collisions leads to another name.
        collisions = int(dig(workload, "status", "collisionCount", default=0)) + 1
        status = {**(workload.get("status") or {}), "collisionCount": collisions}
        await write_status(client, kind, workload, status)
        raise


async def _adopt(client: Client, workload: Obj, revision: Obj) -> Obj:
    """Take over what an earlier workload of that name left behind."""
    if controller_of(revision) is not None:
        return revision
    owners = [*(revision["metadata"].get("ownerReferences") or ()), owner_reference(workload)]
    return await write(client, CONTROLLER_REVISIONS, revision, {"metadata": {"ownerReferences": owners}})


async def forget_revisions(client: Client, revisions: Iterable[Obj]) -> None:
    """Delete revisions that nobody needs any more."""
    for revision in revisions:
        try:
            await client.delete(CONTROLLER_REVISIONS, name_of(revision), namespace_of(revision), uid=uid_of(revision))
        except NotFound:
            continue
