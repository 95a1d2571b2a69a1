"""A planned reparent before a tablet is touched that could be the primary. Pure.

Which tablet is the primary only Vitess knows, and it may change at any time. So Vitess is told to avoid the tablet that
is touched next: that moves the primary if it is there, and does nothing if it is not. A Job tells it; the shard's
status names the Job once it is complete, and until then the tablet is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hanse.api.vitess.kinds import SPEC_DIGEST_ANNOTATION, TABLET_UID_LABEL
from hanse.kube.manifest import Obj, annotations_of, dig, is_deleting, labels_of
from hanse.vitess.first.levels import holds
from hanse.vitess.first.tablets import REPLICA, Tablet, pod_of, tablets_of
from hanse.vitess.first.vtctl import vtctl_job

_DEADLINE_SECONDS = 120
# In place of a digest in the name of the Job before a tablet goes for good.
_FOR_GOOD = "gone"


@dataclass(frozen=True, slots=True)
class Move:
    """The primary is to be moved away from a tablet; `job` does it, and has done so or not."""

    tablet: Tablet
    job: Obj
    done: bool


def is_up(pod: Obj | None) -> bool:
    """Tell whether a pod is ready and stays."""
    return pod is not None and holds(pod, "Ready") and not is_deleting(pod)


def next_move(shard: Obj, surplus: Sequence[Tablet], pods: Mapping[str, Obj], jobs: Mapping[str, Obj]) -> Move | None:
    """Return the move that has to come before the next change of a shard's tablets; None where none has to.

    Only while all tablets are up and none is on its way out: a primary is not moved beside one that is down, and what
    was done before one went down may not hold any more.
    """
    wanted = tablets_of(shard["spec"])
    if any(map(is_deleting, pods.values())) or not all(is_up(pods.get(each.name)) for each in (*surplus, *wanted)):
        return None
    since = max((_ready_since(pods[each.name]) for each in (*surplus, *wanted)), default="")
    if surplus:
        return _move(shard, surplus[0], _FOR_GOOD, jobs, since)
    for tablet in wanted:
        digest = _digest(pod_of(shard, tablet))
        if _digest(pods[tablet.name]) != digest:
            return _move(shard, tablet, digest, jobs, since)
    return None


def _ready_since(pod: Obj) -> str:
    conditions = dig(pod, "status", "conditions", default=[])
    return next((str(each.get("lastTransitionTime", "")) for each in conditions if each["type"] == "Ready"), "")


def _digest(pod: Obj) -> str:
    return annotations_of(pod).get(SPEC_DIGEST_ANNOTATION, "")


def _move(shard: Obj, tablet: Tablet, mark: str, jobs: Mapping[str, Obj], since: str) -> Move | None:
    """Return the move away from a tablet, which must have been made `since` the last tablet came up."""
    target = _target(shard["spec"], tablet)
    if not target:
        return None
    spec, name = shard["spec"], job_name(tablet, mark)
    live = jobs.get(name)
    if live is not None and (holds(live, "Failed") or _is_stale(live, since)):
        # It goes, and another one is made in its place.
        return None
    command = ["PlannedReparentShard", "-keyspace_shard", f"{spec['keyspace']}/{spec['name']}", *target]
    done = live is not None and holds(live, "Complete") and not is_deleting(live)
    return Move(tablet, vtctl_job(shard, name, command, _DEADLINE_SECONDS), done)


def _is_stale(job: Obj, since: str) -> bool:
    """Tell whether a tablet was down after a Job was complete: the primary may have gone anywhere meanwhile."""
    return holds(job, "Complete") and str(dig(job, "status", "completionTime", default="")) < since


def job_name(tablet: Tablet, mark: str) -> str:
    """Return the name of the Job that moves the primary away from a tablet before it becomes another one."""
    return f"{tablet.cluster}-reparent-{tablet.alias}-{mark[:6]}"


def may_be_relieved(spec: Obj, tablet: Tablet) -> bool:
    """Tell whether a tablet could be the primary and another one could take its place."""
    return bool(_target(spec, tablet))


def _target(spec: Obj, tablet: Tablet) -> list[str]:
    """Say where the primary shall be: at any other tablet of the cell, or else at one of another cell."""
    if tablet.type != REPLICA:
        return []
    if any(each.type == REPLICA and each.uid != tablet.uid for each in tablets_of(spec)):
        return ["-avoid_master", tablet.alias]
    for cell in spec.get("cells") or ():
        replicas = [each for each in tablets_of(spec, cell) if each.type == REPLICA]
        if cell != spec["cell"] and replicas:
            return ["-new_master", replicas[0].alias]
    return []


def pre_update_child(request: Obj) -> Obj:
    """Say whether a tablet's pod may be taken away now, for another one that comes in its place."""
    shard, pod, desired = request["parent"], request["child"], request["desired"]
    uid = labels_of(desired).get(TABLET_UID_LABEL)
    tablet = next((each for each in tablets_of(shard["spec"]) if each.uid_string == uid), None)
    if tablet is None:
        return {"ready": False, "message": "it is to go, and is not changed any more"}
    if not is_up(pod) or not may_be_relieved(shard["spec"], tablet):
        return {"ready": True}
    name = job_name(tablet, _digest(desired))
    if dig(shard, "status", "reparented", default="") == name:
        return {"ready": True}
    return {"ready": False, "message": f"Job {name} moves the primary away from it first"}
