"""A VitessBackupSchedule: which backups are due now, and which Jobs of earlier ones are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from hanse.api.planetscale.kinds import (
    KEYSPACE_LABEL,
    SHARD_LABEL,
    VITESS_BACKUP_SCHEDULES,
    VITESS_BACKUPS,
    VITESS_SHARDS,
)
from hanse.kube.cron import Schedule, ScheduleError
from hanse.kube.manifest import Obj, dig, is_deleting, labels_of, name_of
from hanse.kube.runtime import parse_timestamp, timestamp
from hanse.vitess.operator.keeping import kept
from hanse.vitess.operator.kinds import CLAIMS, JOBS
from hanse.vitess.operator.schedule_jobs import (
    CLIENT_METHOD,
    VTBACKUP_METHOD,
    backup_job,
    beyond_limits,
    client_job,
    due_time,
    is_active,
    is_of,
    timed_out,
)
from hanse.vitess.operator.schedule_targets import Target, keyspaces_apart, targets_of
from hanse.vitess.operator.schedule_times import ScheduleInvalid, due, frequency_cron, frequency_minutes, spread_offset
from hanse.vitess.operator.shaping import Settings
from hanse.vitess.operator.shard_scene import shard_scene
from hanse.vitess.operator.verdicts import Happening, Observed, Tri, Verdict, observed_of, ready_condition, refused

ALLOWED_MISSED = 100
TIMEOUT_MINUTES = 10
_RESYNC_SECONDS = 60.0


@dataclass(slots=True)
class _Run:
    """One look at a schedule."""

    parent: Obj
    observed: Observed
    settings: Settings
    children: list[Obj] = field(default_factory=list)
    events: list[Happening] = field(default_factory=list)
    active: list[str] = field(default_factory=list)
    last: dict[str, str] = field(default_factory=dict)
    next: dict[str, str] = field(default_factory=dict)
    crons: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def spec(self) -> Obj:
        """What is asked for."""
        found: Obj = self.parent["spec"]
        return found

    @property
    def jobs(self) -> list[Obj]:
        """The Jobs that are not being deleted."""
        return [job for job in self.observed.of(JOBS).values() if not is_deleting(job)]


def sync_schedule(parent: Obj, observed: Observed, settings: Settings) -> Verdict:
    """Return the Jobs of a VitessBackupSchedule, and when to look again."""
    run = _Run(parent, observed, settings)
    try:
        crons = _crons(run)
    except ScheduleInvalid as problem:
        return refused(parent, observed, [str(problem)])
    _keep(run)
    for target, cron in crons:
        _start(run, target, cron)
    status = {
        "active": sorted(run.active),
        "lastScheduledTimes": run.last,
        "nextScheduledTimes": run.next,
        "generatedSchedules": run.crons if run.spec.get("frequency") else {},
        "conditions": [_ready(run)],
    }
    return Verdict(tuple(run.children), status, tuple(run.events), again=_RESYNC_SECONDS)


def _ready(run: _Run) -> Obj:
    if run.problems:
        return ready_condition(run.parent, False, "TooManyMissed", "; ".join(run.problems))
    return ready_condition(run.parent, True, "Scheduled", "backups are made when they are due")


def _crons(run: _Run) -> list[tuple[Target, Schedule]]:
    """Return every target with its times; raises ScheduleInvalid."""
    spec, cluster = run.spec, str(run.spec.get("cluster") or "")
    cron, frequency = spec.get("schedule") or "", spec.get("frequency") or ""
    if bool(cron) == bool(frequency):
        raise ScheduleInvalid("schedule, frequency: give exactly one of them")
    others = [each["spec"] for each in run.observed.beside(VITESS_BACKUP_SCHEDULES).values()]
    targets = targets_of(spec, run.observed.beside(VITESS_SHARDS).values(), keyspaces_apart([spec, *others]))
    found = []
    minutes = frequency_minutes(frequency) if frequency else 0
    for target in targets:
        text = cron
        if minutes:
            offset = spread_offset(cluster, target.keyspace, target.range, str(spec["name"]), minutes)
            text = frequency_cron(minutes, offset)
        run.crons[target.name] = text
        found.append((target, _parsed(text)))
    if not targets:
        _parsed(cron or frequency_cron(minutes, 0))
    return found


def _parsed(text: str) -> Schedule:
    try:
        return Schedule.parse(text)
    except ScheduleError as error:
        raise ScheduleInvalid(f"schedule: {error}") from error


def _keep(run: _Run) -> None:
    """Add the Jobs that stay, with their disks: those that work, and as many of those that are over as are wanted."""
    spec, now = run.spec, run.observed.now
    limit = int(spec.get("jobTimeoutMinute") or TIMEOUT_MINUTES)
    gone = beyond_limits(run.jobs, spec)
    for job in run.jobs:
        if timed_out(job, limit, now):
            said = f"Job {name_of(job)} was deleted: it worked for more than {limit} minutes"
            run.events.append(Happening("BackupTimedOut", said, warning=True))
        elif name_of(job) not in gone:
            run.children.append(kept(job))
            run.active += [name_of(job)] if is_active(job) else []
            run.children += [kept(disk) for name, disk in run.observed.of(CLAIMS).items() if name == name_of(job)]


def _start(run: _Run, target: Target, cron: Schedule) -> None:
    """Add the Job of a backup that is due, unless something stands in its way."""
    spec, now = run.spec, run.observed.now
    since = _since(run, target)
    if since is not None:
        run.last[target.name] = timestamp(since)
    begin = since if since is not None else parse_timestamp(run.parent["metadata"]["creationTimestamp"])
    deadline = spec.get("startingDeadlineSeconds")
    if deadline is not None:
        begin = max(begin, now - float(deadline))
    allowed = int(spec.get("allowedMissedRun") or ALLOWED_MISSED)
    found = due(cron, begin, now, allowed)
    upcoming = cron.next(now)
    if upcoming is not None:
        run.next[target.name] = timestamp(upcoming)
    if found.latest is None or spec.get("suspend"):
        return
    if found.missed > allowed:
        said = (
            f"{target.name}: more than {allowed} backups were missed; set startingDeadlineSeconds, or look at the clock"
        )
        run.problems.append(said)
        run.events.append(Happening("TooManyMissed", said, warning=True))
        return
    active = [job for job in run.jobs if is_of(job, target) and name_of(job) in run.active]
    if active and (spec.get("concurrencyPolicy") or "Forbid") == "Forbid":
        said = f"{target.name}: a backup is due, and skipped since {name_of(active[0])} still works"
        run.events.append(Happening("BackupSkipped", said))
        return
    made = _made(run, target, int(found.latest))
    if made:
        run.children += made
        run.active.append(name_of(made[-1]))
        run.last[target.name] = timestamp(found.latest)


def _since(run: _Run, target: Target) -> float | None:
    """Return the last time for which a backup was begun, as the Jobs and the status say."""
    times = [due_time(job) for job in run.jobs if is_of(job, target)]
    said = dig(run.parent, "status", "lastScheduledTimes", default={}).get(target.name)
    return max([*times, *([parse_timestamp(said)] if said else [])], default=None)


def _made(run: _Run, target: Target, at: int) -> list[Obj]:
    if (run.spec.get("backupMethod") or VTBACKUP_METHOD) == CLIENT_METHOD:
        return client_job(run.parent, target, at)
    backups = [
        (VITESS_BACKUPS, each) for each in run.observed.beside(VITESS_BACKUPS).values() if _is_backup(each, target)
    ]
    scene = shard_scene(target.shard, observed_of([], backups), None, run.settings)
    if waits := _waits_for(target.shard, [each for _, each in backups]):
        run.events.append(Happening("BackupWaiting", f"{target.name}: a backup is due, and waits: {waits}"))
        return []
    made = backup_job(run.parent, target, at, scene)
    if made is None:
        said = f"{target.name}: its first pool has no MySQL of its own or no backup location; nothing is backed up"
        run.events.append(Happening("InvalidSpec", said, warning=True))
        return []
    return made


def _is_backup(backup: Obj, target: Target) -> bool:
    labels = labels_of(backup)
    return (labels.get(KEYSPACE_LABEL), labels.get(SHARD_LABEL)) == (target.keyspace, target.safe_range)


def _waits_for(shard: Obj, backups: list[Obj]) -> str:
    """Say what a shard lacks before a backup can be made beside its tablets; "" where nothing."""
    if any(dig(each, "status", "complete") for each in backups):
        return ""
    status = shard.get("status") or {}
    if status.get("hasMaster") != Tri.TRUE:
        return "the shard has no primary yet"
    if status.get("hasInitialBackup") != Tri.TRUE:
        return "the shard has no first backup yet"
    if any(each.get("ready") != Tri.TRUE for each in (status.get("tablets") or {}).values()):
        return "not all tablets are ready"
    return ""
