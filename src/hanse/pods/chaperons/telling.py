"""The status of a chaperon: that of its pod, how far it has come, and one sentence where something is wrong. Pure."""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Obj, dig, is_deleting, uid_of
from hanse.kube.runtime import timestamp
from hanse.pods.chaperons.pods import added_annotations, attempt_of_pod, had_pod, has_ended
from hanse.pods.chaperons.reading import Phase, attempt_of, fence_of, phase_of, scheduling_phase, waiting_why


def shown(chaperon: Obj, pod: Obj) -> Obj:
    """Return the status of a chaperon whose pod is there."""
    phase = _phase(chaperon, pod)
    return _status(chaperon, pod, phase, _message(phase, pod))


def expired(chaperon: Obj, pod: Obj, silent: float) -> Obj:
    """Return the status of a chaperon whose pod is stopped because its source has given no sign for so long."""
    before = fence_of(chaperon.get("status"))
    told = before.get("message") if before.get("expired") else None
    message = told or f"its source has given no sign for {silent:.0f} s, so the pod was stopped"
    status = _status(chaperon, pod, Phase.LOST, message)
    return {**status, "fence": {**status["fence"], "expired": True}}


def lost(chaperon: Obj, since: float) -> Obj:
    """Return the status of a chaperon whose pod was there and is gone."""
    status = _before(chaperon)
    told: Obj = {"phase": Phase.LOST, "missingSince": timestamp(since)}
    told["message"] = "its pod was deleted or evicted in its cluster"
    return {**status, "fence": {**fence_of(status), **told}}


def announced(chaperon: Obj, word: str) -> Obj:
    """Return the status of a chaperon whose pod is about to be made; the word tells this from every other time."""
    status = _before(chaperon)
    return {**status, "fence": {**fence_of(status), "making": word}}


def refused(chaperon: Obj, why: str) -> Obj:
    """Return the status of a chaperon whose pod the cluster does not let be made, now or once more."""
    status = _before(chaperon)
    if had_pod(chaperon):
        return {**status, "fence": {**fence_of(status), "message": f"its pod is gone and cannot be made again: {why}"}}
    # The word stays: the next time that it is tried is the same one to whoever else looks.
    told = {name: value for name, value in fence_of(status).items() if name == "making"}
    return {**status, "fence": {"phase": Phase.REFUSED, "attempt": attempt_of(chaperon), "message": why, **told}}


def _status(chaperon: Obj, pod: Obj, phase: Phase, message: str) -> Obj:
    before = fence_of(chaperon.get("status"))
    fence: Obj = {
        "phase": phase,
        "attempt": attempt_of_pod(pod, chaperon),
        "message": message,
        "podUid": uid_of(pod),
    }
    if node := dig(pod, "spec", "nodeName"):
        fence["nodeName"] = node
    pods = _count(before.get("pods"), another=before.get("podUid") not in (None, uid_of(pod)))
    if pods > 1:
        fence["pods"] = pods
    status: Obj = {**_without_nulls(pod.get("status") or {}), "fence": fence}
    if added := added_annotations(pod, chaperon):
        status["podAnnotations"] = added
    return status


def _count(before: Any, *, another: bool) -> int:
    known = before if isinstance(before, int) else 1
    return known + 1 if another else known


def _phase(chaperon: Obj, pod: Obj) -> Phase:
    same = fence_of(chaperon.get("status")).get("podUid") == uid_of(pod)
    if has_ended(pod, chaperon) or (same and phase_of(chaperon) is Phase.ENDED):
        return Phase.ENDED
    if dig(pod, "spec", "nodeName"):
        return Phase.BOUND
    return scheduling_phase(pod.get("status"))


def _message(phase: Phase, pod: Obj) -> str:
    if phase is Phase.UNSCHEDULABLE:
        return waiting_why(pod.get("status"))
    if phase is Phase.ENDED:
        return str(dig(pod, "status", "message", default="") or dig(pod, "status", "reason", default=""))
    return "it is being deleted in its cluster" if is_deleting(pod) else ""


def _before(chaperon: Obj) -> Obj:
    status = chaperon.get("status")
    return status if isinstance(status, dict) else {}


def _without_nulls(value: Any) -> Any:
    """Leave out fields that are null, which a patch could not store: they would differ for ever."""
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value
