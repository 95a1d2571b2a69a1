"""What a Deployment's status says: counts, and the conditions that `kubectl rollout status` and `kubectl wait` read."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.runtime import parse_timestamp, timestamp
from hanse.simulator.workloads.rollout import Bounds

# Kubernetes' way to say that there is no deadline.
_NO_DEADLINE = 2**31 - 1


def condition_of(kind: str, status: str, reason: str, message: str, now: str) -> Obj:
    """Make a condition of a Deployment, which tells the time of its last update as well."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastUpdateTime": now,
        "lastTransitionTime": now,
    }


def with_condition(conditions: list[Obj], new: Obj) -> list[Obj]:
    """Put a condition in; one with the same status and reason stays as it is."""
    before = find_condition(conditions, new["type"])
    if before is not None and before["status"] == new["status"]:
        if before.get("reason") == new["reason"]:
            return conditions
        new = {**new, "lastTransitionTime": before["lastTransitionTime"]}
    return [*(entry for entry in conditions if entry["type"] != new["type"]), new]


def without_condition(conditions: list[Obj], kind: str) -> list[Obj]:
    """Leave a condition out."""
    return [entry for entry in conditions if entry["type"] != kind]


def deadline_of(deployment: Obj) -> int | None:
    """Return the seconds without progress after which a rollout counts as stuck; None for never."""
    seconds = dig(deployment, "spec", "progressDeadlineSeconds")
    return None if seconds is None or seconds == _NO_DEADLINE else int(seconds)


def counted_status(deployment: Obj, new: Obj | None, replica_sets: Sequence[Obj], bounds: Bounds, now: float) -> Obj:
    """Return the status with all counts and Available; Progressing stays as it was."""
    available = _total(replica_sets, "availableReplicas")
    wanted = sum(int(dig(entry, "spec", "replicas", default=0)) for entry in replica_sets)
    counts = {
        "replicas": _total(replica_sets, "replicas"),
        "updatedReplicas": _total([new] if new else [], "replicas"),
        "readyReplicas": _total(replica_sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, wanted - available),
    }
    status: Obj = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        **{name: count for name, count in counts.items() if count},
        "terminatingReplicas": _total(replica_sets, "terminatingReplicas"),
    }
    collisions = dig(deployment, "status", "collisionCount")
    if collisions is not None:
        status["collisionCount"] = collisions
    conditions: list[Obj] = dig(deployment, "status", "conditions", default=[])
    status["conditions"] = with_condition(
        conditions, _availability(available >= bounds.least_available, timestamp(now))
    )
    return status


def _availability(enough: bool, now: str) -> Obj:
    if enough:
        message = "Deployment has minimum availability."
        return condition_of("Available", "True", "MinimumReplicasAvailable", message, now)
    message = "Deployment does not have minimum availability."
    return condition_of("Available", "False", "MinimumReplicasUnavailable", message, now)


def _total(replica_sets: Sequence[Obj], count: str) -> int:
    return sum(int(dig(replica_set, "status", count, default=0)) for replica_set in replica_sets)


def is_complete(deployment: Obj, status: Obj) -> bool:
    """Tell whether all replicas are of the present template, available, and the only ones."""
    wanted = int(dig(deployment, "spec", "replicas", default=1))
    counts = (status.get(name, 0) for name in ("updatedReplicas", "replicas", "availableReplicas"))
    observed = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return observed and all(count == wanted for count in counts)


def with_progress(deployment: Obj, new: Obj | None, status: Obj, now: float) -> Obj:
    """Add what the rollout's progress is; raised hopes and deadlines alike."""
    conditions: list[Obj] = status["conditions"]
    deadline = deadline_of(deployment)
    if deadline is None:
        return {**status, "conditions": without_condition(conditions, "Progressing")}
    present = find_condition(dig(deployment, "status", "conditions", default=[]), "Progressing")
    rolled_out = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    if rolled_out and present is not None and present.get("reason") == "NewReplicaSetAvailable":
        return status
    subject = f'ReplicaSet "{name_of(new)}"' if new else f'Deployment "{name_of(deployment)}"'
    stamp = timestamp(now)
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        entry = condition_of("Progressing", "True", "NewReplicaSetAvailable", message, stamp)
    elif _has_progressed(deployment.get("status") or {}, status):
        entry = condition_of("Progressing", "True", "ReplicaSetUpdated", f"{subject} is progressing.", stamp)
        if present is not None and present["status"] == "True":
            entry["lastTransitionTime"] = present["lastTransitionTime"]
        conditions = without_condition(conditions, "Progressing")
    elif present is not None and _is_overdue(present, deadline, now):
        message = f"{subject} has timed out progressing."
        entry = condition_of("Progressing", "False", "ProgressDeadlineExceeded", message, stamp)
    else:
        return status
    return {**status, "conditions": with_condition(conditions, entry)}


def _has_progressed(before: Obj, now: Obj) -> bool:
    def left(status: Obj) -> int:
        return int(status.get("replicas", 0)) - int(status.get("updatedReplicas", 0))

    grown = ("updatedReplicas", "readyReplicas", "availableReplicas")
    return left(now) < left(before) or any(now.get(count, 0) > before.get(count, 0) for count in grown)


def _is_overdue(progressing: Obj, deadline: int, now: float) -> bool:
    if progressing.get("reason") == "NewReplicaSetAvailable":
        return False
    if progressing.get("reason") == "ProgressDeadlineExceeded":
        return True
    return parse_timestamp(progressing["lastUpdateTime"]) + deadline < now


def seconds_until_overdue(deployment: Obj, status: Obj, now: float) -> float | None:
    """Return when a rollout without further progress has to be called stuck; None when it cannot be."""
    deadline = deadline_of(deployment)
    progressing = find_condition(status["conditions"], "Progressing")
    if deadline is None or progressing is None or is_complete(deployment, status):
        return None
    if progressing.get("reason") in ("ProgressDeadlineExceeded", "NewReplicaSetAvailable"):
        return None
    # A second more, since the time of the last update was cut to whole seconds.
    return max(0.0, parse_timestamp(progressing["lastUpdateTime"]) + deadline - now) + 1.0


def with_failures(new: Obj | None, replica_sets: Sequence[Obj], status: Obj) -> Obj:
    """Carry a ReplicaSet's inability to create pods over, the present one's first; a past one is dropped."""
    conditions = without_condition(status["conditions"], "ReplicaFailure")
    for replica_set in [*([new] if new else []), *replica_sets]:
        failure = find_condition(dig(replica_set, "status", "conditions", default=[]), "ReplicaFailure")
        if failure is not None:
            since = failure["lastTransitionTime"]
            entry = condition_of("ReplicaFailure", "True", failure["reason"], failure["message"], since)
            return {**status, "conditions": [*conditions, entry]}
    return {**status, "conditions": conditions}
