"""Decides the next step of a Job: which pods to make, end and count, and what its status says.

A pod is counted in three steps, each safe to repeat: its uid is noted in the status as uncounted, then its finalizer
goes, then the note becomes a count. So a pod that ended is counted once, whatever crashes in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig, is_deleting, uid_of
from hanse.kube.runtime import parse_timestamp, timestamp
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.job_failures import (
    Verdict,
    counts_as_failure,
    has_failed,
    is_suspended,
    judge_failure,
    replaces_only_failed,
    seconds_to_deadline,
    seconds_to_retry,
)
from hanse.simulator.workloads.job_pods import JobPod, job_pod, read_indexes, write_indexes
from hanse.simulator.workloads.replicas import BURST_REPLICAS, removal_order
from hanse.simulator.workloads.telling import Told

_DONE = Verdict(True, "CompletionsReached", "Reached expected number of succeeded pods")


@dataclass(frozen=True, slots=True)
class JobPlan:
    """The next step of a Job.

    `end` are pods whose end counts, `drop` pods that go without being counted, `release` those whose finalizer goes
    once the status is written.
    """

    status: Obj
    create: tuple[Obj, ...] = ()
    end: tuple[PodFacts, ...] = ()
    drop: tuple[JobPod, ...] = ()
    release: tuple[JobPod, ...] = ()
    events: tuple[Told, ...] = ()
    look_again_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Work:
    """What is done about the number of running pods."""

    create: tuple[Obj, ...] = ()
    end: tuple[JobPod, ...] = ()
    drop: tuple[JobPod, ...] = ()
    wait: float | None = None


class _Tally:
    """A Job's pods, counted."""

    def __init__(self, job: Obj, pods: Sequence[JobPod]) -> None:
        self.job, self.pods = job, pods
        status = job.get("status") or {}
        uncounted = status.get("uncountedTerminatedPods") or {}
        self.uncounted_succeeded: list[str] = list(uncounted.get("succeeded") or ())
        self.uncounted_failed: list[str] = list(uncounted.get("failed") or ())
        self.indexed = dig(job, "spec", "completionMode") == "Indexed"
        self.completions: int | None = dig(job, "spec", "completions")
        self.active = [pod for pod in pods if pod.facts.active]
        self.terminating = [pod for pod in pods if pod.facts.deleting and not pod.facts.finished]
        self.done_before = read_indexes(str(status.get("completedIndexes") or ""))
        new_failed = [pod for pod in pods if self._is_new(pod, self.uncounted_failed) and has_failed(job, pod)]
        new_failed = [pod for pod in new_failed if counts_as_failure(job, pod)]
        self.failed = int(status.get("failed") or 0) + len(self.uncounted_failed) + len(new_failed)
        succeeded = [pod for pod in pods if pod.facts.phase == "Succeeded"]
        new = [pod for pod in succeeded if self._is_new(pod, self.uncounted_succeeded)]
        self.done = self.done_before | {pod.index for pod in new if pod.index is not None and self.indexed}
        counted = int(status.get("succeeded") or 0) + len(self.uncounted_succeeded) + len(new)
        self.succeeded = len(self.done) if self.indexed else counted

    def _is_new(self, pod: JobPod, uncounted: Sequence[str]) -> bool:
        return pod.tracked and pod.facts.uid not in uncounted and self.is_valid(pod)

    def is_valid(self, pod: JobPod) -> bool:
        """Tell whether a pod is of an index that the Job has, where it has indexes."""
        return not self.indexed or (pod.index is not None and pod.index < (self.completions or 0))


def plan_job(job: Obj, pods: Sequence[JobPod], *, seen: bool, now: float) -> JobPlan:
    """Compare a Job with its pods; `seen` tells whether the pods show all that was done before."""
    tally = _Tally(job, pods)
    started = _started(job, now)
    verdict = _standing(job) or judge_failure(job, pods, failed=tally.failed, started=started, now=now)
    managed = False
    work = _Work()
    if verdict is not None:
        work = _Work(end=tuple(tally.active))
        verdict = verdict if seen else None
    elif seen and not is_deleting(job):
        managed = True
        work = _sized(tally, now)
        if _is_complete(tally, work):
            verdict = _DONE
    told: list[Told] = []
    status = _status(tally, work, started)
    release = _count(tally, verdict, status)
    conditions = [dict(entry) for entry in dig(job, "status", "conditions", default=[])]
    if managed and verdict is None:
        _note_suspension(job, conditions, status, told, now)
    if verdict is not None:
        _note_verdict(verdict, conditions, status, told, now, open_ends=bool(release))
    if conditions:
        status["conditions"] = conditions
    waits = [work.wait, None if verdict else seconds_to_deadline(job, started=started, now=now)]
    return JobPlan(
        status=status,
        create=work.create,
        end=tuple(pod.facts for pod in work.end),
        drop=work.drop,
        release=tuple(release),
        events=tuple(told),
        look_again_seconds=min((wait for wait in waits if wait is not None), default=None),
    )


def is_finished(job: Obj) -> bool:
    """Tell whether a Job is Complete or Failed for good."""
    conditions: list[Obj] = dig(job, "status", "conditions", default=[])
    return any(entry.get("type") in ("Complete", "Failed") and entry.get("status") == "True" for entry in conditions)


def _started(job: Obj, now: float) -> float | None:
    noted = dig(job, "status", "startTime")
    if noted is not None:
        return parse_timestamp(noted)
    return None if is_suspended(job) else now


def _standing(job: Obj) -> Verdict | None:
    """Return the verdict of an earlier look, which is not taken back."""
    conditions: list[Obj] = dig(job, "status", "conditions", default=[])
    for kind, success in (("SuccessCriteriaMet", True), ("FailureTarget", False)):
        entry = find_condition(conditions, kind)
        if entry is not None and entry.get("status") == "True":
            return Verdict(success, entry.get("reason", ""), entry.get("message", ""))
    return None


def _sized(tally: _Tally, now: float) -> _Work:
    """Make or remove pods so that as many run as shall; never both in one step."""
    job, active = tally.job, len(tally.active)
    if is_suspended(job):
        return _Work(drop=tuple(tally.active))
    parallelism = int(dig(job, "spec", "parallelism", default=1))
    if tally.completions is None:
        wanted = active if tally.succeeded else parallelism
    else:
        wanted = max(0, min(parallelism, tally.completions - tally.succeeded))
    if surplus := _surplus(tally, max(0, active - wanted)):
        return _Work(drop=tuple(surplus[:BURST_REPLICAS]))
    missing = wanted - active - (len(tally.terminating) if replaces_only_failed(job) else 0)
    if missing <= 0:
        return _Work()
    if (wait := seconds_to_retry(job, tally.pods, now)) > 0:
        return _Work(wait=wait)
    missing = min(missing, BURST_REPLICAS)
    if tally.indexed:
        return _Work(create=tuple(job_pod(job, index) for index in _pending_indexes(tally)[:missing]))
    return _Work(create=tuple(job_pod(job) for _ in range(missing)))


def _surplus(tally: _Tally, least: int) -> list[JobPod]:
    by_key = {pod.facts.key: pod for pod in tally.active}
    ordered = [by_key[facts.key] for facts in removal_order(pod.facts for pod in tally.active)]
    taken: set[int | None] = set()
    repeated = []
    if tally.indexed:
        # Of two pods of one index the one that got furthest stays.
        for pod in reversed(ordered):
            if pod.index in taken or not tally.is_valid(pod):
                repeated.append(pod)
            taken.add(pod.index)
    left = [pod for pod in ordered if pod not in repeated]
    return repeated + left[: max(0, least - len(repeated))]


def _pending_indexes(tally: _Tally) -> list[int]:
    busy = tally.active + (tally.terminating if replaces_only_failed(tally.job) else [])
    taken = tally.done | {pod.index for pod in busy}
    return [index for index in range(tally.completions or 0) if index not in taken]


def _is_complete(tally: _Tally, work: _Work) -> bool:
    if len(tally.active) + len(work.create) - len(work.drop) > 0:
        return False
    if tally.completions is None:
        return tally.succeeded > 0
    return tally.succeeded >= tally.completions


def _status(tally: _Tally, work: _Work, started: float | None) -> Obj:
    """Return the status with what runs; the counts of what has ended are as they were."""
    going = [*work.end, *work.drop]
    ready = sum(1 for pod in tally.active if pod.facts.ready) - sum(1 for pod in going if pod.facts.ready)
    before = tally.job.get("status") or {}
    kept = ("succeeded", "failed", "completedIndexes", "failedIndexes", "completionTime")
    status: Obj = {name: before[name] for name in kept if before.get(name)}
    if active := len(tally.active) + len(work.create) - len(going):
        status["active"] = active
    status |= {"ready": ready, "terminating": len(tally.terminating) + len(going)}
    if started is not None:
        status["startTime"] = timestamp(started)
    return status


def _count(tally: _Tally, verdict: Verdict | None, status: Obj) -> list[JobPod]:
    """Note what ended as uncounted and count what was noted; returns the pods whose finalizers may go."""
    tracked = {pod.facts.uid for pod in tally.pods if pod.tracked}
    succeeded = [uid for uid in tally.uncounted_succeeded if uid in tracked]
    failed = [uid for uid in tally.uncounted_failed if uid in tracked]
    counts = {
        "succeeded": int(status.pop("succeeded", 0)) + len(tally.uncounted_succeeded) - len(succeeded),
        "failed": int(status.pop("failed", 0)) + len(tally.uncounted_failed) - len(failed),
    }
    release = []
    for pod in tally.pods:
        over = pod.facts.phase == "Succeeded" or has_failed(tally.job, pod)
        if not pod.tracked or not (over or verdict is not None or is_deleting(tally.job)):
            continue
        release.append(pod)
        uid = pod.facts.uid
        if uid in succeeded or uid in failed:
            continue
        if pod.facts.phase == "Succeeded":
            succeeded += [] if tally.indexed else [uid]
        elif _counts(tally, pod, verdict):
            failed.append(uid)
    if tally.indexed:
        counts["succeeded"] = len(tally.done)
        status["completedIndexes"] = write_indexes(tally.done)
    uncounted = {"succeeded": succeeded, "failed": failed}
    status["uncountedTerminatedPods"] = {name: uids for name, uids in uncounted.items() if uids}
    status |= {name: count for name, count in counts.items() if count}
    if not status.get("completedIndexes"):
        status.pop("completedIndexes", None)
    return release


def _counts(tally: _Tally, pod: JobPod, verdict: Verdict | None) -> bool:
    """Tell whether a pod that did not succeed is a failure; when the Job fails, all that still ran are."""
    over = has_failed(tally.job, pod) or (verdict is not None and not verdict.success)
    return over and tally.is_valid(pod) and counts_as_failure(tally.job, pod)


def _note_suspension(job: Obj, conditions: list[Obj], status: Obj, told: list[Told], now: float) -> None:
    entry = find_condition(conditions, "Suspended")
    standing = entry is not None and entry.get("status") == "True"
    if is_suspended(job) and not standing:
        _put(conditions, "Suspended", "True", "JobSuspended", "Job suspended", now)
        told.append(Told("Suspended", "Job suspended"))
        status.pop("startTime", None)
    elif standing and not is_suspended(job):
        _put(conditions, "Suspended", "False", "JobResumed", "Job resumed", now)
        told.append(Told("Resumed", "Job resumed"))
        # The deadline counts from the resumption.
        status["startTime"] = timestamp(now)


def _note_verdict(
    verdict: Verdict, conditions: list[Obj], status: Obj, told: list[Told], now: float, *, open_ends: bool
) -> None:
    """Say at once how the Job will end, and that it has ended when nothing of it is left open."""
    aim, end = ("SuccessCriteriaMet", "Complete") if verdict.success else ("FailureTarget", "Failed")
    _put(conditions, aim, "True", verdict.reason, verdict.message, now)
    if open_ends or status["terminating"] or any(status["uncountedTerminatedPods"].values()):
        return
    _put(conditions, end, "True", verdict.reason, verdict.message, now)
    if verdict.success:
        status["completionTime"] = timestamp(now)
        told.append(Told("Completed", "Job completed"))
    else:
        told.append(Told(verdict.reason, verdict.message, warning=True))


def _put(conditions: list[Obj], kind: str, holds: str, reason: str, message: str, now: float) -> None:
    made = {"type": kind, "status": holds, "reason": reason, "message": message}
    before = find_condition(conditions, kind)
    if before is not None and all(before.get(field) == value for field, value in made.items()):
        return
    stamp = timestamp(now)
    made |= {"lastProbeTime": stamp, "lastTransitionTime": stamp}
    if before is None:
        conditions.append(made)
    else:
        before.clear()
        before.update(made)


def is_stray(pod: PodFacts, job: Obj | None) -> bool:
    """Tell whether a pod that bears a Job's finalizer has no unfinished Job that would take it off."""
    return job is None or pod.owner_uid != uid_of(job) or is_finished(job)
