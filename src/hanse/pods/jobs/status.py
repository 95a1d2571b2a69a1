"""The status of a Job that runs elsewhere: what its target shows, in steps that API servers accept.

API servers hold the status of a Job that others manage to strict rules: counters never fall, a start stands, a Job says
what it ends with before or as it ends, and has no pods left then. A Job that has ended stays as it is.
"""

from __future__ import annotations

from hanse.kube.conditions import condition, find_condition, is_true
from hanse.kube.manifest import Obj, dig
from hanse.propagation.statuses.conditions import dated
from hanse.propagation.statuses.jobs import job_finished

PROPAGATED = "Propagated"
_PRESENT = ("active", "terminating")
_INDEXES = ("completedIndexes", "failedIndexes")
# What a Job says when its end is certain, and when it has ended.
_SUCCESS, _FAILURE = ("SuccessCriteriaMet", "Complete"), ("FailureTarget", "Failed")
_ENDS = frozenset({*_SUCCESS, *_FAILURE})


def mirrored(job: Obj, copy: Obj, target: str, now: str, *, current: bool) -> Obj:
    """Return the status of a Job of which a target shows this copy; it is `current` if it has the Job's present spec.

    What a Job has completed by its index is told only then: the numbers must fit the spec.
    """
    old, told = job.get("status") or {}, copy.get("status") or {}
    if job_finished(job):
        return old
    status = {name: count for name in _PRESENT if (count := int(told.get(name) or 0))}
    # Elastic Jobs may complete less after they were scaled down; no others.
    least = 0 if _is_elastic(job) else int(old.get("succeeded") or 0)
    counts = {
        "ready": min(int(told.get("ready") or 0), status.get("active", 0)),
        "succeeded": max(int(told.get("succeeded") or 0), least),
        "failed": max(int(told.get("failed") or 0), int(old.get("failed") or 0)),
    }
    status |= {name: count for name, count in counts.items() if count}
    status |= {name: each[name] for name in _INDEXES if name in (each := told if current else old)}
    suspended = bool(dig(job, "spec", "suspend"))
    if start := told.get("startTime") if suspended or not old.get("startTime") else old["startTime"]:
        status["startTime"] = start
    return _concluded(job, status, told, _tells(target), now)


def vanished(job: Obj, why: str, now: str) -> Obj:
    """Return the status of a Job that had begun and is not in its target any more: it has failed, and runs once.

    One whose success was certain has succeeded.
    """
    old = job.get("status") or {}
    if job_finished(job):
        return old
    kept = ("succeeded", "failed", *_INDEXES, "startTime")
    status = {name: old[name] for name in kept if name in old}
    conditions = old.get("conditions") or []
    if is_true(conditions, _SUCCESS[0]):
        end = condition(_SUCCESS[1], True, "SuccessCriteriaMet", "What it had to do was done.")
    else:
        end = condition(_FAILURE[1], True, "LostInTarget", f"{why}; it is not begun again, since it may have run")
    told = {"conditions": [*(each for each in conditions if each.get("type") in _ENDS), end]}
    return _concluded(job, status, told, condition(PROPAGATED, False, "LostInTarget", why), now)


def waiting(job: Obj, reason: str, why: str, now: str) -> Obj:
    """Return the status of a Job that is in no target, and the sentence that says what it waits for."""
    old = job.get("status") or {}
    if job_finished(job):
        return old
    told = {"conditions": [each for each in old.get("conditions") or [] if each.get("type") != PROPAGATED]}
    return {**old, "conditions": [*told["conditions"], *_dated(old, [condition(PROPAGATED, False, reason, why)], now)]}


def _concluded(job: Obj, status: Obj, told: Obj, propagated: Obj, now: str) -> Obj:
    """Put conditions into a status: its end only when nothing runs any more, and never without what goes before it."""
    old = job.get("status") or {}
    conditions = [each for each in told.get("conditions") or [] if each.get("type") != PROPAGATED]
    ended = next((each for each in (_SUCCESS, _FAILURE) if is_true(conditions, each[1])), None)
    if ended is not None and (status.get("active") or status.get("terminating")):
        conditions = [each for each in conditions if each.get("type") != ended[1]]
        ended = None
    if ended is not None:
        conditions = _preceded(conditions, ended)
        status.setdefault("startTime", told.get("completionTime") or now)
        if ended is _SUCCESS:
            # Times of one format are in the order of their text.
            status["completionTime"] = max(told.get("completionTime") or now, status["startTime"])
    since = find_condition(conditions, ended[1] if ended is not None else "") or {}
    fresh = [each if "lastTransitionTime" in each else {**each, **_times(since, now)} for each in conditions]
    return {**status, "conditions": [*fresh, *_dated(old, [propagated], now)]}


def _preceded(conditions: list[Obj], ended: tuple[str, str]) -> list[Obj]:
    """Say before the end what it is, as Kubernetes has done only since 1.31."""
    before, end = ended
    if is_true(conditions, before):
        return conditions
    last = find_condition(conditions, end) or {}
    others = [each for each in conditions if each.get("type") not in (before, end)]
    return [*others, {**last, "type": before}, last]


def _times(since: Obj, now: str) -> Obj:
    moment = since.get("lastTransitionTime") or now
    return {"lastProbeTime": since.get("lastProbeTime") or moment, "lastTransitionTime": moment}


def _dated(old: Obj, fresh: list[Obj], now: str) -> list[Obj]:
    return dated(old.get("conditions") or [], fresh, now, updates="lastProbeTime")


def _tells(target: str) -> Obj:
    return condition(PROPAGATED, True, "InTarget", f"in {target}")


def _is_elastic(job: Obj) -> bool:
    spec = job.get("spec") or {}
    return spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
