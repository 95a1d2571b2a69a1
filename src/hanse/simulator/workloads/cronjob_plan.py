"""Decides whether a CronJob starts a Job now, which old Jobs it forgets, and what its status says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import formatdate

from hanse.kube.cron import Schedule, ScheduleError, read_zone
from hanse.kube.manifest import (
    Obj,
    annotations_of,
    dig,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    owner_reference,
    uid_of,
)
from hanse.kube.runtime import parse_timestamp, timestamp
from hanse.simulator.workloads.kinds import JOBS
from hanse.simulator.workloads.telling import Told

_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
# A look that comes a moment too early would find nothing to do.
_MARGIN_SECONDS = 0.1
_MANY = 100


@dataclass(frozen=True, slots=True)
class CronJobPlan:
    """The next step of a CronJob; `create` is to be noted as active in the status once it is there."""

    status: Obj
    create: Obj | None = None
    delete: tuple[Obj, ...] = ()
    events: tuple[Told, ...] = ()
    scheduled: float | None = None
    look_again_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Unmet:
    """The latest time that was due and not met, where there is one; and about how many there are."""

    since: float
    latest: float | None = None
    missed: int = 0


def plan_cronjob(cron_job: Obj, jobs: Sequence[Obj], now: float) -> CronJobPlan:
    """Compare a CronJob with the Jobs that it controls."""
    told: list[Told] = []
    forgotten = _beyond_limits(cron_job, jobs)
    status = _counted(cron_job, jobs, told)
    _leave_active(status, forgotten)
    plan = CronJobPlan(status=status, delete=tuple(forgotten), events=tuple(told))
    if is_deleting(cron_job):
        return plan
    try:
        schedule = schedule_of(cron_job)
    except ScheduleError as error:
        return _with(plan, events=(_unreadable(cron_job, error),))
    if dig(cron_job, "spec", "suspend", default=False):
        return plan
    unmet = _unmet(cron_job, schedule, now, within_deadline=True)
    plan = _with(plan, look_again_seconds=seconds_to_next(cron_job, schedule, now))
    if unmet.latest is None or unmet.latest > now:
        return plan
    return _started(cron_job, plan, unmet, jobs, now)


def schedule_of(cron_job: Obj) -> Schedule:
    """Read a CronJob's schedule; raises ScheduleError."""
    return Schedule.parse(str(dig(cron_job, "spec", "schedule", default="")), dig(cron_job, "spec", "timeZone") or "")


def _unreadable(cron_job: Obj, error: ScheduleError) -> Told:
    zone = dig(cron_job, "spec", "timeZone")
    if zone:
        try:
            read_zone(zone)
        except ScheduleError:
            return Told("UnknownTimeZone", f'invalid timeZone: "{zone}": {error}', warning=True)
    told = f'unparseable schedule: "{dig(cron_job, "spec", "schedule")}" : {error}'
    return Told("UnparseableSchedule", told, warning=True)


def _with(plan: CronJobPlan, *, events: tuple[Told, ...] = (), look_again_seconds: float | None = None) -> CronJobPlan:
    return CronJobPlan(
        status=plan.status,
        delete=plan.delete,
        events=plan.events + events,
        look_again_seconds=look_again_seconds if look_again_seconds is not None else plan.look_again_seconds,
    )


def end_of(job: Obj) -> str:
    """Return how a Job ended, "Complete" or "Failed"; "" while it has not."""
    for entry in dig(job, "status", "conditions", default=[]):
        if entry.get("type") in ("Complete", "Failed") and entry.get("status") == "True":
            return str(entry["type"])
    return ""


def _counted(cron_job: Obj, jobs: Sequence[Obj], told: list[Told]) -> Obj:
    """Return the status with the Jobs that still run and the last success."""
    status = dict(cron_job.get("status") or {})
    known = {uid_of(job): job for job in jobs}
    active = []
    for entry in status.get("active") or ():
        job = known.get(entry.get("uid"))
        if job is None:
            told.append(Told("MissingJob", f"Active job went missing: {entry.get('name')}"))
        elif end := end_of(job):
            told.append(Told("SawCompletedJob", f"Saw completed job: {name_of(job)}, condition: {end}"))
        else:
            active.append(entry)
    noted = {entry.get("uid") for entry in active}
    for job in jobs:
        if uid_of(job) not in noted and not end_of(job):
            message = f"Saw a job that the controller did not create or forgot: {name_of(job)}"
            told.append(Told("UnexpectedJob", message, warning=True))
    successes = [dig(job, "status", "completionTime") for job in jobs if end_of(job) == "Complete"]
    latest = max((*filter(None, successes), status.get("lastSuccessfulTime") or ""))
    status["active"] = active
    if latest:
        status["lastSuccessfulTime"] = latest
    return status


def _leave_active(status: Obj, gone: Sequence[Obj]) -> None:
    uids = {uid_of(job) for job in gone}
    active = [entry for entry in status.get("active") or () if entry.get("uid") not in uids]
    status.pop("active", None)
    if active:
        status["active"] = active


def _beyond_limits(cron_job: Obj, jobs: Sequence[Obj]) -> list[Obj]:
    """Return the finished Jobs that are older than the history keeps."""
    found: list[Obj] = []
    for end, field in (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")):
        limit = dig(cron_job, "spec", field)
        ended = sorted((job for job in jobs if end_of(job) == end and not is_deleting(job)), key=_by_start)
        if limit is not None:
            found += ended[: max(0, len(ended) - int(limit))]
    return found


def _by_start(job: Obj) -> tuple[str, str]:
    return dig(job, "status", "startTime", default="~"), name_of(job)


def _unmet(cron_job: Obj, schedule: Schedule, now: float, *, within_deadline: bool) -> _Unmet:
    since = parse_timestamp(
        dig(cron_job, "status", "lastScheduleTime") or cron_job["metadata"].get("creationTimestamp") or timestamp(now)
    )
    deadline = dig(cron_job, "spec", "startingDeadlineSeconds")
    if within_deadline and deadline is not None:
        since = max(since, now - float(deadline))
    first = schedule.next(since)
    second = None if first is None else schedule.next(first)
    if first is None or second is None or now < first:
        return _Unmet(since)
    if now < second:
        return _Unmet(since, first)
    period = max(1.0, second - first)
    missed = int((now - first) // period) + 1
    # From one period before the last one that can have been missed, the schedule itself tells which it was.
    latest, following = None, schedule.next(first + (missed - 2) * period)
    while following is not None and following <= now:
        latest, following = following, schedule.next(following)
    return _Unmet(since, latest, missed)


def seconds_to_next(cron_job: Obj, schedule: Schedule, now: float) -> float | None:
    """Return how long it is until a CronJob must be looked at for its next start."""
    unmet = _unmet(cron_job, schedule, now, within_deadline=False)
    base = unmet.latest if unmet.latest is not None else now if unmet.missed else unmet.since
    following = schedule.next(base)
    return None if following is None else max(0.0, following - now) + _MARGIN_SECONDS


def _started(cron_job: Obj, plan: CronJobPlan, unmet: _Unmet, jobs: Sequence[Obj], now: float) -> CronJobPlan:
    """Start the Job of a time that is due, unless it is too late, done, or in another's way."""
    due = unmet.latest or now
    events: tuple[Told, ...] = ()
    if unmet.missed > _MANY:
        message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        events = (Told("TooManyMissedTimes", message, warning=True),)
    deadline = dig(cron_job, "spec", "startingDeadlineSeconds")
    if deadline is not None and due + float(deadline) < now:
        message = f"Missed scheduled time to start a job: {formatdate(due)}"
        return _with(plan, events=(*events, Told("MissSchedule", message, warning=True)))
    job = job_from(cron_job, due)
    active = plan.status.get("active") or []
    if any(entry.get("name") == name_of(job) for entry in active):
        return _with(plan, events=events)
    if dig(cron_job, "status", "lastScheduleTime") == timestamp(due):
        return _with(plan, events=events)
    policy = dig(cron_job, "spec", "concurrencyPolicy")
    if policy == "Forbid" and active:
        message = "Not starting job because prior execution is running and concurrency policy is Forbid"
        return _with(plan, events=(*events, Told("JobAlreadyActive", message)))
    replaced = [other for other in jobs if uid_of(other) in {entry.get("uid") for entry in active}]
    status = dict(plan.status)
    if policy == "Replace":
        _leave_active(status, replaced)
    return CronJobPlan(
        status=status,
        create=job,
        delete=(*plan.delete, *(replaced if policy == "Replace" else ())),
        events=plan.events + events,
        scheduled=due,
        look_again_seconds=plan.look_again_seconds,
    )


def job_from(cron_job: Obj, scheduled: float) -> Obj:
    """Return the Job for a scheduled time; its name follows from the time, so that it is never made twice."""
    template = cron_job["spec"]["jobTemplate"]
    metadata = {"metadata": template.get("metadata") or {}}
    zone = dig(cron_job, "spec", "timeZone")
    stamp = datetime.fromtimestamp(scheduled, read_zone(zone)).isoformat() if zone else timestamp(scheduled)
    made: Obj = {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": f"{name_of(cron_job)}-{int(scheduled) // 60}",
            "namespace": namespace_of(cron_job),
            "annotations": {**annotations_of(metadata), _SCHEDULED: stamp},
            "ownerReferences": [owner_reference(cron_job)],
        },
        "spec": template["spec"],
    }
    if labels_of(metadata):
        made["metadata"]["labels"] = labels_of(metadata)
    return made


def with_started(status: Obj, job: Obj, scheduled: float) -> Obj:
    """Return the status with a Job that was just started."""
    entry = {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "name": name_of(job),
        "namespace": namespace_of(job),
        "uid": uid_of(job),
        "resourceVersion": job["metadata"].get("resourceVersion", ""),
    }
    return {**status, "active": [*(status.get("active") or ()), entry], "lastScheduleTime": timestamp(scheduled)}
