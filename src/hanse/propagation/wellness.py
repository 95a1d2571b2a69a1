"""Whether a copy does in its cluster what it is there for: pure, from the status that its controllers wrote.

Kinds that report nothing are well as soon as they are there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig


@dataclass(frozen=True, slots=True)
class Ailment:
    """What a copy lacks; a `stuck` one does not get well without somebody's help."""

    why: str
    stuck: bool = False


# Says what a copy lacks, None where it is well.
Health: TypeAlias = Callable[[Obj], Ailment | None]


def ailment_of(copy: Obj) -> Ailment | None:
    """Return what a copy lacks, None where it is well: by what is known of its kind without being taught."""
    judge = _BY_KIND.get(copy.get("kind", ""), _by_conditions)
    return unseen_change(copy) or judge(copy)


def has_entrance(copy: Obj) -> bool:
    """Tell whether clients can come in by a copy that is there for them: an Ingress, a Service of type LoadBalancer.

    That a cluster without load balancers never gives an address makes no copy in it ill; but another cluster's, which
    has one, is not given up for it.
    """
    balanced = copy.get("kind") == "Service" and dig(copy, "spec", "type") == "LoadBalancer"
    if copy.get("kind") != "Ingress" and not balanced:
        return True
    return bool(dig(copy, "status", "loadBalancer", "ingress"))


def unseen_change(copy: Obj) -> Ailment | None:
    """Tell of a copy whose status is older than what it says."""
    seen = dig(copy, "status", "observedGeneration")
    if seen is not None and seen < dig(copy, "metadata", "generation", default=0):
        return Ailment("its controllers have not seen the change yet")
    return None


def _deployment(copy: Obj) -> Ailment | None:
    progressing = find_condition(dig(copy, "status", "conditions"), "Progressing") or {}
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return Ailment("its rollout makes no progress", stuck=True)
    if dig(copy, "status", "observedGeneration") is None:
        return Ailment("its controllers have not seen the change yet")
    wanted = dig(copy, "spec", "replicas", default=1)
    return (
        _fewer(copy, "updatedReplicas", wanted, "have the new version")
        or _fewer(copy, "availableReplicas", wanted, "are available")
        or _leftover(copy)
    )


def _leftover(copy: Obj) -> Ailment | None:
    old = dig(copy, "status", "replicas", default=0) - dig(copy, "status", "updatedReplicas", default=0)
    return Ailment(f"{old} replicas of the old version are still there") if old > 0 else None


def _stateful_set(copy: Obj) -> Ailment | None:
    wanted = dig(copy, "spec", "replicas", default=1)
    rolling = dig(copy, "spec", "updateStrategy", "type", default="RollingUpdate") == "RollingUpdate"
    kept = dig(copy, "spec", "updateStrategy", "rollingUpdate", "partition", default=0)
    ready = _fewer(copy, "readyReplicas", wanted, "are ready")
    return ready or (_fewer(copy, "updatedReplicas", wanted - kept, "have the new version") if rolling else None)


def _daemon_set(copy: Obj) -> Ailment | None:
    wanted = dig(copy, "status", "desiredNumberScheduled", default=0)
    rolling = dig(copy, "spec", "updateStrategy", "type", default="RollingUpdate") == "RollingUpdate"
    available = _fewer(copy, "numberAvailable", wanted, "are available")
    return available or (_fewer(copy, "updatedNumberScheduled", wanted, "have the new version") if rolling else None)


def _replica_set(copy: Obj) -> Ailment | None:
    return _fewer(copy, "availableReplicas", dig(copy, "spec", "replicas", default=1), "are available")


def _job(copy: Obj) -> Ailment | None:
    failed = find_condition(dig(copy, "status", "conditions"), "Failed") or {}
    if failed.get("status") != "True":
        return None
    return Ailment(f"it has failed: {failed.get('message') or failed.get('reason', 'no reason is given')}", stuck=True)


def _by_conditions(copy: Obj) -> Ailment | None:
    for kind in ("Ready", "Available"):
        found = find_condition(dig(copy, "status", "conditions"), kind) or {}
        if found.get("status") == "False":
            return Ailment(f"it is not {kind}: {found.get('message') or found.get('reason', 'no reason is given')}")
    return None


def _fewer(copy: Obj, field: str, wanted: int, what: str) -> Ailment | None:
    have = dig(copy, "status", field, default=0)
    return Ailment(f"{have} of {wanted} replicas {what}") if have < wanted else None


_BY_KIND: dict[str, Callable[[Obj], Ailment | None]] = {
    "Deployment": _deployment,
    "StatefulSet": _stateful_set,
    "DaemonSet": _daemon_set,
    "ReplicaSet": _replica_set,
    "ReplicationController": _replica_set,
    "Job": _job,
}
