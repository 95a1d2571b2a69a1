"""When a CronJob starts a Job, and what it keeps of old ones."""

from datetime import UTC, datetime

import pytest

from hanse.kube.manifest import annotations_of, name_of
from hanse.kube.runtime import timestamp
from hanse.simulator.workloads.cronjob_plan import plan_cronjob, with_started
from tests.unit.simulator.workload_builders import workload

NOW = datetime(2026, 3, 1, 10, 0, 5, tzinfo=UTC).timestamp()
DUE = NOW - 5


def cron_job(schedule="*/10 * * * *", *, status=None, born=NOW - 65, **spec):
    template = {"spec": {"template": {}}, "metadata": {"labels": {"a": "b"}}}
    made = workload("CronJob", {"schedule": schedule, "jobTemplate": template, **spec}, name="tick", status=status)
    made["metadata"]["creationTimestamp"] = timestamp(born)
    return made


def job(name, end="", started=NOW - 100):
    conditions = [{"type": end, "status": "True"}] if end else []
    status = {"conditions": conditions, "startTime": timestamp(started)}
    if end == "Complete":
        status["completionTime"] = timestamp(started + 10)
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "status": status}


def active(*names):
    return {"active": [{"name": name, "uid": f"uid-{name}"} for name in names]}


def reasons(plan):
    return [told.reason for told in plan.events]


def test_what_is_due_is_started_under_the_name_of_its_minute():
    plan = plan_cronjob(cron_job(), [], NOW)
    assert name_of(plan.create) == f"tick-{int(DUE) // 60}"
    assert plan.create["metadata"]["labels"] == {"a": "b"}
    stamp = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    assert annotations_of(plan.create)[stamp] == "2026-03-01T10:00:00Z"
    assert plan.look_again_seconds == pytest.approx(595.1)
    status = with_started(plan.status, {**plan.create, "metadata": {**plan.create["metadata"], "uid": "u"}}, DUE)
    assert status["lastScheduleTime"] == timestamp(DUE)
    assert [entry["uid"] for entry in status["active"]] == ["u"]


def test_a_time_zone_moves_the_times_and_their_stamp():
    plan = plan_cronjob(cron_job("0 15 * * *", timeZone="Asia/Kathmandu", born=NOW - 86400), [], NOW)
    stamp = "batch.kubernetes.io/cronjob-scheduled-timestamp"
    assert annotations_of(plan.create)[stamp] == "2026-03-01T15:00:00+05:45"


@pytest.mark.parametrize(
    ("owner", "jobs", "told"),
    [
        pytest.param(cron_job("30 * * * *"), [], [], id="not due"),
        pytest.param(cron_job(suspend=True), [], [], id="suspended"),
        pytest.param(cron_job(status={"lastScheduleTime": timestamp(DUE)}), [], [], id="done already"),
        pytest.param(cron_job(born=NOW), [], [], id="younger than the time"),
        pytest.param(
            cron_job(concurrencyPolicy="Forbid", status=active("old")),
            [job("old")],
            ["JobAlreadyActive"],
            id="in the way",
        ),
        pytest.param(cron_job("nonsense"), [], ["UnparseableSchedule"], id="unreadable"),
        pytest.param(cron_job(timeZone="Nowhere/Land"), [], ["UnknownTimeZone"], id="nowhere"),
        pytest.param(cron_job("0 0 31 2 *"), [], [], id="never"),
    ],
)
def test_what_is_not_started(owner, jobs, told):
    plan = plan_cronjob(owner, jobs, NOW)
    assert plan.create is None
    assert reasons(plan) == told


def test_replacing_ends_what_still_runs():
    plan = plan_cronjob(cron_job(concurrencyPolicy="Replace", status=active("old")), [job("old")], NOW)
    assert plan.create is not None
    assert [name_of(gone) for gone in plan.delete] == ["old"]
    assert "active" not in plan.status


def test_of_many_missed_times_the_last_is_made_up_for():
    plan = plan_cronjob(cron_job("* * * * *", born=NOW - 200 * 60), [], NOW)
    assert plan.scheduled == DUE
    assert reasons(plan) == ["TooManyMissedTimes"]


def test_a_deadline_forgets_what_is_too_late():
    late = cron_job("0 * * * *", born=NOW - 7000, startingDeadlineSeconds=3)
    assert plan_cronjob(late, [], NOW).create is None
    assert plan_cronjob({**late, "spec": {**late["spec"], "startingDeadlineSeconds": 10}}, [], NOW).create is not None


def test_history_keeps_the_youngest_of_each_sort():
    jobs = [job(f"good{age}", "Complete", NOW - age) for age in (10, 20, 30)]
    jobs += [job(f"bad{age}", "Failed", NOW - age) for age in (10, 20)]
    owner = cron_job("30 * * * *", successfulJobsHistoryLimit=2, failedJobsHistoryLimit=0)
    assert [name_of(gone) for gone in plan_cronjob(owner, jobs, NOW).delete] == ["good30", "bad20", "bad10"]


def test_the_status_follows_the_jobs():
    owner = cron_job("30 * * * *", status=active("done", "gone", "running"))
    plan = plan_cronjob(owner, [job("done", "Complete", NOW - 50), job("running"), job("foreign")], NOW)
    assert [entry["name"] for entry in plan.status["active"]] == ["running"]
    assert plan.status["lastSuccessfulTime"] == timestamp(NOW - 40)
    assert reasons(plan) == ["SawCompletedJob", "MissingJob", "UnexpectedJob"]
