"""Jobs and CronJobs: counts are sums, a Job is complete when each of its parts is and failed when one part has.

API servers hold Jobs to more than other kinds: counters never fall, a finished Job stays as it is, and one that has
ended has no active pods and says first what it ends with.
"""

from __future__ import annotations

from hanse.kube.conditions import condition, find_condition, is_true
from hanse.kube.manifest import Obj, dig
from hanse.propagation.report import Report
from hanse.propagation.statuses.conditions import dated, members_of, propagated

_GROWING = ("succeeded", "failed")
_PRESENT = ("active", "ready", "terminating")


def job_finished(job: Obj) -> bool:
    """Tell whether a Job has ended, well or badly."""
    conditions = dig(job, "status", "conditions")
    return is_true(conditions, "Complete") or is_true(conditions, "Failed")


def job_status(source: Obj, report: Report, now: str) -> Obj:
    """Return the status of a Job."""
    old: Obj = source.get("status") or {}
    if job_finished(source):
        return old
    members = members_of(report)
    # A cluster that no longer answers has not made undone what it had told.
    counts = {name: max(int(old.get(name, 0)), _sum(members, name)) for name in _GROWING}
    counts |= {name: _sum(members, name) for name in _PRESENT}
    status: Obj = {name: count for name, count in counts.items() if count}
    started = old.get("startTime") or min(_times(members, "startTime"), default=None)
    if started:
        status["startTime"] = started
    quiet = started and not counts["active"] and not counts["terminating"]
    ended = _ending(source, report, members, counts["succeeded"]) if quiet else []
    if any(entry["type"] == "Complete" for entry in ended):
        status["completionTime"] = max(_times(members, "completionTime"), default=now)
    fresh = [*(ended or _failing(report)), propagated(report)]
    status["conditions"] = dated(old.get("conditions") or [], fresh, now, updates="lastProbeTime")
    return status


def _ending(source: Obj, report: Report, members: list[Obj], succeeded: int) -> list[Obj]:
    if not report.settled or not members or not all(job_finished(obj) for obj in members):
        return []
    if failing := _failing(report):
        return [*failing, {**failing[0], "type": "Failed"}]
    if not dig(source, "spec", "successPolicy") and succeeded < dig(source, "spec", "completions", default=0):
        # The rest is in a cluster that does not answer.
        return []
    text = "Every part of the Job is complete."
    return [condition(kind, True, "CompletionsReached", text) for kind in ("SuccessCriteriaMet", "Complete")]


def _failing(report: Report) -> list[Obj]:
    """Return the condition that says that the Job is going to fail: a part has, with that part's own reason."""
    for row in report.rows:
        conditions = dig(row.observed, "status", "conditions")
        if row.live and is_true(conditions, "Failed"):
            told = find_condition(conditions, "Failed") or {}
            text = f"{row.cluster}: {told.get('message') or 'its part of the Job has failed'}"
            return [condition("FailureTarget", True, told.get("reason") or "JobFailed", text)]
    return []


def cron_job_status(source: Obj, report: Report, _now: str) -> Obj:
    """Return the status of a CronJob: what runs anywhere, and the latest times."""
    members = members_of(report)
    status: Obj = {}
    if active := [entry for obj in members for entry in dig(obj, "status", "active", default=[])]:
        status["active"] = active
    for name in ("lastScheduleTime", "lastSuccessfulTime"):
        times = [*_times(members, name), *_times([source], name)]
        if times:
            status[name] = max(times)
    return status


def _times(objects: list[Obj], name: str) -> list[str]:
    return [time for obj in objects if (time := dig(obj, "status", name))]


def _sum(members: list[Obj], name: str) -> int:
    return sum(int(dig(obj, "status", name, default=0)) for obj in members)
