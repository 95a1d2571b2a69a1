"""How an object does, in one word and a few more: what `hanse tree` prints beside it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hanse.federated.reporting import PROPAGATION
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import Obj, dig, is_deleting


class Mark(StrEnum):
    """As it should be, on the way there, or in need of somebody."""

    OK = "ok"
    WAITING = "waiting"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Health:
    """One object's state: how much of it is ready ("2/3", "" for kinds without), its mark, and why."""

    mark: Mark
    ready: str = ""
    why: str = ""


# What a kubelet says of a container that will not start by waiting.
_STUCK = frozenset(
    {
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)


def health_of(obj: Obj) -> Health:
    """Judge an object by its own status."""
    if is_deleting(obj):
        return Health(Mark.WAITING, why="being deleted")
    match obj.get("kind"):
        case "Pod":
            return _pod(obj)
        case "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet":
            return _replicated(obj)
        case "DaemonSet":
            wanted = dig(obj, "status", "desiredNumberScheduled", default=0)
            return _counted(obj, dig(obj, "status", "numberReady", default=0), wanted)
        case "Job":
            return _job(obj)
        case "PersistentVolumeClaim":
            phase = dig(obj, "status", "phase", default="Pending")
            return Health(Mark.OK if phase == "Bound" else Mark.WAITING, why="" if phase == "Bound" else phase)
        case "Service":
            return _service(obj)
    return _conditioned(obj)


def _pod(obj: Obj) -> Health:
    statuses = dig(obj, "status", "containerStatuses", default=[])
    wanted = len(dig(obj, "spec", "containers", default=[]))
    ready = sum(bool(status.get("ready")) for status in statuses)
    told = f"{ready}/{wanted}"
    phase = dig(obj, "status", "phase", default="Pending")
    if phase == "Succeeded":
        return Health(Mark.OK, told, "completed")
    if phase == "Failed":
        return Health(Mark.FAILED, told, dig(obj, "status", "reason", default="Failed"))
    for status in [*dig(obj, "status", "initContainerStatuses", default=[]), *statuses]:
        reason = dig(status, "state", "waiting", "reason", default="")
        if reason in _STUCK:
            return Health(Mark.FAILED, told, reason)
    if phase == "Running" and ready == wanted:
        return Health(Mark.OK, told)
    scheduled = find_condition(dig(obj, "status", "conditions"), "PodScheduled") or {}
    if scheduled.get("reason") == "Unschedulable":
        return Health(Mark.FAILED, told, scheduled.get("message") or "unschedulable")
    return Health(Mark.WAITING, told, "not ready" if phase == "Running" else phase)


def _replicated(obj: Obj) -> Health:
    conditions = dig(obj, "status", "conditions")
    wanted = dig(obj, "spec", "replicas", default=1)
    health = _counted(obj, dig(obj, "status", "readyReplicas", default=0), wanted)
    for kind, reason in (("Progressing", "ProgressDeadlineExceeded"), ("ReplicaFailure", "")):
        found = find_condition(conditions, kind) or {}
        bad = found.get("reason") == reason if reason else found.get("status") == "True"
        if bad:
            return Health(Mark.FAILED, health.ready, found.get("message") or found.get("reason") or kind)
    updated = dig(obj, "status", "updatedReplicas")
    if obj["kind"] in ("Deployment", "StatefulSet") and updated is not None and updated < wanted:
        return Health(Mark.WAITING, health.ready, f"{updated} of {wanted} up to date")
    return health


def _counted(obj: Obj, ready: int, wanted: int) -> Health:
    told = f"{ready}/{wanted}"
    seen = dig(obj, "status", "observedGeneration")
    if seen is not None and seen < dig(obj, "metadata", "generation", default=0):
        return Health(Mark.WAITING, told, "its controller has yet to see the change")
    if ready < wanted:
        return Health(Mark.WAITING, told, f"{wanted - ready} not ready")
    return Health(Mark.OK, told)


def _job(obj: Obj) -> Health:
    conditions = dig(obj, "status", "conditions")
    told = f"{dig(obj, 'status', 'succeeded', default=0)}/{dig(obj, 'spec', 'completions', default=1)}"
    failed = find_condition(conditions, "Failed") or {}
    if failed.get("status") == "True":
        return Health(Mark.FAILED, told, failed.get("message") or "failed")
    if is_true(conditions, "Complete"):
        return Health(Mark.OK, told, "completed")
    return Health(Mark.WAITING, told, f"{dig(obj, 'status', 'active', default=0)} active")


def _service(obj: Obj) -> Health:
    if dig(obj, "spec", "type") == "LoadBalancer" and not dig(obj, "status", "loadBalancer", "ingress"):
        return Health(Mark.WAITING, why="no address yet")
    return Health(Mark.OK)


def _conditioned(obj: Obj) -> Health:
    """Judge a kind that is not known here by the condition that most kinds have, or that federated ones have."""
    conditions = dig(obj, "status", "conditions")
    found = find_condition(conditions, "Ready") or find_condition(conditions, PROPAGATION)
    if found is None or found.get("status") == "True":
        return Health(Mark.OK)
    return Health(Mark.WAITING, why=found.get("message") or found.get("reason") or "not ready")
