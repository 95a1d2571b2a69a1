"""Backup schedules: when backups are due, of which shards, and which Jobs that gives."""

import pytest

from hanse.kube.cron import Schedule
from hanse.kube.manifest import Obj, name_of
from hanse.kube.runtime import timestamp
from hanse.vitess.operator.schedule_times import (
    ScheduleInvalid,
    frequency_cron,
    frequency_minutes,
    spread_offset,
)
from hanse.vitess.operator.schedules import sync_schedule
from tests.unit.vitess.operator.scenes import (
    NOW,
    SETTINGS,
    child,
    children,
    cluster,
    keyspace,
    live,
    names,
    reasons,
    watched,
)
from tests.vitess_specs import keyspace as keyspace_spec
from tests.vitess_specs import vitess_cluster

BACKUP: Obj = {"locations": [{"volume": {"emptyDir": {}}}]}
WHOLE = {"name": "all", "scope": "Cluster"}


def shards(**status):
    """Return the shards of two keyspaces, commerce in one part and customer in two."""
    asked = vitess_cluster(backup=BACKUP, keyspaces=[keyspace_spec("commerce"), keyspace_spec("customer", 2)])
    found = []
    for each in children(cluster(asked), "VitessKeyspace"):
        ready = {"hasMaster": "True", "hasInitialBackup": "True", "tablets": {"a": {"ready": "True"}}, **status}
        found += [live(shard, status=ready) for shard in children(keyspace(live(each)), "VitessShard")]
    return found


def schedule(**spec):
    """Return a schedule that was made ten minutes ago."""
    body = {"name": "nightly", "strategies": [WHOLE], "schedule": "* * * * *", **spec}
    raw = {name: value for name, value in body.items() if value is not None}
    asked = vitess_cluster(backup={**BACKUP, "schedules": [raw]})
    made = live(child(cluster(asked), "VitessBackupSchedule"))
    return {**made, "metadata": {**made["metadata"], "creationTimestamp": timestamp(NOW - 600)}}


def looked(obj, *jobs, related=None):
    return sync_schedule(obj, watched(jobs, shards() if related is None else related), SETTINGS)


@pytest.mark.parametrize("frequency", ["45m", "90m", "48h", "30s", "1m30s", "0m", "", "daily"])
def test_87_a_frequency_divides_an_hour_or_a_day(frequency):
    with pytest.raises(ScheduleInvalid, match="must divide an hour or a day"):
        frequency_minutes(frequency)


@pytest.mark.parametrize(("frequency", "minutes"), [("1m", 1), ("30m", 30), ("60m", 60), ("12h", 720), ("24h", 1440)])
def test_what_divides_is_taken(frequency, minutes):
    assert frequency_minutes(frequency) == minutes


@pytest.mark.parametrize(
    ("minutes", "offset", "cron"),
    [(1440, 61, "1 1 * * *"), (360, 61, "1 1/6 * * *"), (60, 7, "7 * * * *"), (15, 7, "7/15 * * * *")],
)
def test_a_frequency_is_a_cron_schedule_with_an_offset(minutes, offset, cron):
    assert frequency_cron(minutes, offset) == cron
    assert Schedule.parse(cron).next(NOW) is not None


def test_shards_are_spread_and_stay_where_they_are():
    offsets = {
        spread_offset("example", "customer", shard, "nightly", 1440) for shard in ("-40", "40-80", "80-c0", "c0-")
    }
    assert len(offsets) == 4
    assert spread_offset("a", "b", "-", "c", 60) == spread_offset("a", "b", "-", "c", 60) < 60


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"schedule": None, "frequency": "45m"}, "spec.frequency"),
        ({"frequency": "1h"}, "give exactly one"),
        ({"schedule": None}, "give exactly one"),
        ({"schedule": "every day"}, "spec.schedule"),
        (
            {"strategies": [{"name": "a", "scope": "Shard", "keyspace": "commerce"}]},
            "scope Shard needs keyspace and shard",
        ),
        ({"strategies": [{"name": "a", "scope": "Cluster", "keyspace": "commerce"}]}, "needs neither"),
    ],
)
def test_87_a_schedule_that_cannot_be_followed_says_so_and_starts_nothing(spec, says):
    verdict = looked(schedule(**spec))
    assert verdict.children == ()
    assert reasons(verdict) == ["InvalidSpec"]
    assert says in verdict.events[0].message


def test_a_backup_that_is_due_is_a_job_with_a_disk():
    verdict = looked(schedule())
    assert len(names(verdict, "Job")) == len(names(verdict, "PersistentVolumeClaim")) == 3
    job = children(verdict, "Job")[0]
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    assert "--initial_backup=false" in job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert name_of(job) in names(verdict, "PersistentVolumeClaim")


def test_by_vtctldclient_a_tablet_makes_the_backup():
    strategy = {"name": "one", "keyspace": "customer", "shard": "-80", "extraFlags": {"concurrency": "2"}}
    verdict = looked(schedule(backupMethod="vtctldclient", strategies=[strategy]))
    (job,) = verdict.children
    assert job["spec"]["template"]["spec"]["containers"][0]["args"] == [
        "--server=example-vtctld-625ee430:15999",
        "BackupShard",
        "--concurrency=2",
        "customer/-80",
    ]


def test_88_a_keyspace_with_a_strategy_of_its_own_is_left_out_of_the_clusters():
    own = {"name": "own", "scope": "Keyspace", "keyspace": "customer"}
    verdict = looked(schedule(strategies=[WHOLE, own]))
    assert sorted(verdict.status["nextScheduledTimes"]) == [
        "all-commerce-x-x",
        "own-customer-80-x",
        "own-customer-x-80",
    ]
    other = schedule(strategies=[own])
    assert sorted(looked(schedule(), related=[*shards(), other]).status["nextScheduledTimes"]) == ["all-commerce-x-x"]
    asleep = schedule(strategies=[own], suspend=True)
    assert len(looked(schedule(), related=[*shards(), asleep]).status["nextScheduledTimes"]) == 3


def test_89_one_shard_is_backed_up_once_by_a_schedule_and_may_be_by_two():
    strategies = [{"name": name, "keyspace": "commerce", "shard": "-"} for name in ("a", "b")]
    verdict = looked(schedule(strategies=strategies))
    assert reasons(verdict) == ["InvalidSpec"]
    assert "is backed up by a and by b" in verdict.events[0].message
    other = schedule(strategies=strategies[1:])
    assert len(names(looked(schedule(strategies=strategies[:1]), related=[*shards(), other]), "Job")) == 1


def one_target(**spec):
    return schedule(strategies=[{"name": "one", "keyspace": "commerce", "shard": "-"}], **spec)


def begun(seconds, **status):
    """Return the Job of a backup that was due before, and is called after that."""
    when = NOW - seconds
    job = named(children(looked(one_target()), "Job")[0], f"job-{seconds}")
    job["metadata"]["annotations"] = {"planetscale.com/scheduled-at": str(int(when))}
    made = live(job, status=status)
    return {**made, "metadata": {**made["metadata"], "creationTimestamp": timestamp(when)}}


def named(obj, name):
    return {**obj, "metadata": {**obj["metadata"], "name": name}}


def ended(kind):
    return {"conditions": [{"type": kind, "status": "True"}]}


def test_90_while_a_backup_is_made_another_is_skipped():
    verdict = looked(one_target(), begun(120))
    assert names(verdict, "Job") == ["job-120"]
    assert reasons(verdict) == ["BackupSkipped"]
    assert len(names(looked(one_target(concurrencyPolicy="Allow"), begun(120)), "Job")) == 2


def test_91_after_too_many_missed_backups_somebody_has_to_look():
    old = one_target()
    old["metadata"]["creationTimestamp"] = timestamp(NOW - 102 * 60)
    verdict = looked(old)
    assert names(verdict, "Job") == []
    assert reasons(verdict) == ["TooManyMissed"]
    old["metadata"]["creationTimestamp"] = timestamp(NOW - 99 * 60)
    assert len(names(looked(old), "Job")) == 1
    late = one_target(startingDeadlineSeconds=120)
    late["metadata"]["creationTimestamp"] = timestamp(NOW - 86400)
    assert len(names(looked(late), "Job")) == 1


def test_a_suspended_schedule_starts_nothing():
    assert looked(schedule(suspend=True)).children == ()


def test_jobs_that_are_over_are_forgotten_with_their_disks_the_oldest_first():
    jobs = [begun(seconds, **ended("Complete")) for seconds in (30, 240, 300)]
    disk = child(looked(one_target()), "PersistentVolumeClaim")
    disks = [live(named(disk, name_of(each))) for each in jobs]
    verdict = looked(one_target(successfulJobsHistoryLimit=2, suspend=True), *jobs, *disks)
    assert names(verdict, "Job") == names(verdict, "PersistentVolumeClaim") == ["job-240", "job-30"]


def test_a_backup_that_takes_too_long_is_given_up():
    verdict = looked(one_target(jobTimeoutMinute=5, suspend=True), begun(301))
    assert names(verdict, "Job") == []
    assert reasons(verdict) == ["BackupTimedOut"]


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ({"hasMaster": "Unknown"}, "no primary"),
        ({"hasInitialBackup": "False"}, "no first backup"),
        ({"tablets": {"a": {"ready": "False"}}}, "not all tablets are ready"),
    ],
)
def test_a_backup_waits_for_a_shard_that_is_not_ready_for_it(status, says):
    verdict = looked(one_target(), related=shards(**status))
    assert names(verdict, "Job") == []
    assert says in verdict.events[0].message
