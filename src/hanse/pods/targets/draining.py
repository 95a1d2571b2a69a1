"""Draining a target that is being removed: it stays until nothing of its source runs there any more.

Placeholders that are bound to it are replaced or ended by whoever keeps them, and their chaperons go by that. What is
left are chaperons of pods that have ended or are not bound, which are taken away here, and Jobs that run whole there,
which are waited for: nobody could begin them anew elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from hanse.api.admiralty.keys import HAS_FINALIZER, PARENT_CLUSTER, PARENT_NAME, PARENT_NAMESPACE, PARENT_UID, TARGET
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.names import MANAGED_LABEL
from hanse.api.plain_kinds import JOBS
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.errors import Conflict, Forbidden, NotFound
from hanse.kube.manifest import Key, Obj, annotations_of, dig, is_deleting, key_of, labels_of, uid_of, version_of
from hanse.kube.resources import PODS, Resource

_ENDED = ("Succeeded", "Failed")
_JOB_ENDS = ("Complete", "Failed")


async def is_drained(source: Client, name: str, member: Member, *, ours: bool) -> bool:
    """Take away what has ended in a target that is being removed; tells whether nothing is left to wait for.

    `name` is the source's. Where that is not known to be `ours` in the target, what nobody here asked for is left
    alone.
    """
    chaperons = await _of_source(member, POD_CHAPERONS, name)
    jobs = [job for job in await _of_source(member, JOBS, name) if not _has_finished(job)]
    placeholders = await _placeholders(source, chaperons)
    left = [each for each in chaperons if ours or labels_of(each).get(PARENT_UID) in placeholders]
    for chaperon in left:
        placeholder = placeholders.get(labels_of(chaperon).get(PARENT_UID, ""))
        if not is_deleting(chaperon) and not _is_alive(placeholder, member.name):
            await _delete(member, chaperon)
    return not left and not jobs


async def _of_source(member: Member, kind: Resource, source: str) -> list[Obj]:
    try:
        labels = f"{MANAGED_LABEL}=true,{PARENT_CLUSTER}={source}"
        return (await member.client.list(kind, member.namespace, labels=labels)).items
    except (Forbidden, NotFound):
        if kind == POD_CHAPERONS:
            raise
        # Whoever may not see Jobs there has none there.
        return []


async def _placeholders(source: Client, chaperons: Iterable[Obj]) -> dict[str, Obj]:
    """Return the placeholders of chaperons by uid, of a list that was begun after the chaperons were seen."""
    parents = {labels_of(each).get(PARENT_UID, ""): _parent(each) for each in chaperons}
    if not parents:
        return {}
    found = {uid_of(pod): pod for pod in (await source.list(PODS, labels=f"{HAS_FINALIZER}=true")).items}
    for uid, parent in parents.items():
        # One that lost its label is there all the same.
        if uid not in found and (pod := await source.find(PODS, parent.name, parent.namespace)) is not None:
            found[uid_of(pod)] = pod
    return found


async def _delete(member: Member, chaperon: Obj) -> None:
    key = key_of(chaperon)
    try:
        await member.client.delete(
            POD_CHAPERONS, key.name, key.namespace, uid=uid_of(chaperon), version=version_of(chaperon)
        )
    except (NotFound, Conflict):
        # It went by itself, or changed: then it is looked at again.
        return


def _is_alive(placeholder: Obj | None, target: str) -> bool:
    """Tell whether a placeholder stands for a pod in a target, which ends by what becomes of the placeholder."""
    if placeholder is None or dig(placeholder, "status", "phase") in _ENDED:
        return False
    return annotations_of(placeholder).get(TARGET) == target


def _has_finished(job: Obj) -> bool:
    return any(is_true(dig(job, "status", "conditions"), end) for end in _JOB_ENDS)


def _parent(chaperon: Obj) -> Key:
    annotations, key = annotations_of(chaperon), key_of(chaperon)
    return Key(annotations.get(PARENT_NAMESPACE) or key.namespace, annotations.get(PARENT_NAME) or key.name)
