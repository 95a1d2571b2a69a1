"""What a Job does next, case by case."""

import pytest

from hanse.kube.manifest import annotations_of, name_of
from hanse.kube.runtime import timestamp
from hanse.simulator.workloads.job_failures import seconds_to_expiry, seconds_to_retry
from hanse.simulator.workloads.job_plan import plan_job
from hanse.simulator.workloads.job_pods import JobPod, read_indexes, write_indexes
from tests.unit.simulator.workload_builders import NOW, pod, workload

INDEX = "batch.kubernetes.io/job-completion-index"


def job(*, status=None, restart="Never", **spec):
    made = workload("Job", {"parallelism": 1, "completions": 1, "backoffLimit": 6, **spec}, name="work", status=status)
    made["spec"]["template"]["spec"]["restartPolicy"] = restart
    return made


def indexed(**spec):
    return job(completionMode="Indexed", **spec)


def one(name, phase="Running", *, index=None, tracked=True, ended=NOW, codes=(), restarts=0, **facts):
    states = [{"name": "main", "state": {"terminated": {"exitCode": code}}} for code in codes]
    if restarts:
        states = [{"name": "main", "restartCount": restarts, "state": {"running": {}}}]
    found = pod(name, phase=phase, ready=phase == "Running", **facts)
    return JobPod(found, index, tracked, ended, {"containerStatuses": states})


def types(status):
    return [(entry["type"], entry.get("reason")) for entry in status.get("conditions", ())]


@pytest.mark.parametrize(
    ("owner", "pods", "create", "drop"),
    [
        pytest.param(job(parallelism=3, completions=5), [], 3, [], id="as many as may run"),
        pytest.param(job(parallelism=3, completions=2), [], 2, [], id="no more than are wanted"),
        pytest.param(job(parallelism=2, completions=5), [one("a")], 1, [], id="what is missing"),
        pytest.param(job(parallelism=2, completions=2), [one("a", "Succeeded")], 1, [], id="what is left"),
        pytest.param(job(parallelism=1, completions=5), [one("a"), one("b")], 0, 1, id="not too many"),
        pytest.param(
            job(parallelism=2, completions=None), [one("a", "Succeeded"), one("b")], 0, [], id="none after one"
        ),
        pytest.param(job(parallelism=0), [one("a")], 0, 1, id="none at all"),
        pytest.param(job(suspend=True, parallelism=2, completions=2), [one("a"), one("b")], 0, 2, id="none suspended"),
        pytest.param(job(), [one("a", deleting=True)], 0, [], id="one that is deleted failed, and that takes time"),
        pytest.param(
            job(podReplacementPolicy="Failed"), [one("a", deleting=True)], 0, [], id="not before the last has ended"
        ),
    ],
)
def test_pods_are_made_and_removed(owner, pods, create, drop):
    plan = plan_job(owner, pods, seen=True, now=NOW)
    assert len(plan.create) == create
    assert len(plan.drop) == (drop or 0)
    assert plan.end == ()


def test_nothing_is_made_before_the_last_step_is_seen():
    plan = plan_job(job(), [], seen=False, now=NOW)
    assert plan.create == ()
    assert plan.status["startTime"] == timestamp(NOW)


def test_indexes_that_are_missing_are_made():
    owner = indexed(parallelism=3, completions=5, status={"completedIndexes": "0", "succeeded": 1})
    plan = plan_job(owner, [one("b", index=2)], seen=True, now=NOW)
    assert [annotations_of(made)[INDEX] for made in plan.create] == ["1", "3"]
    assert [made["metadata"]["generateName"] for made in plan.create] == ["work-1-", "work-3-"]


def test_of_two_pods_of_an_index_one_goes():
    owner = indexed(parallelism=3, completions=3)
    pods = [one("a", index=0), one("b", index=0, node="", phase="Pending"), one("c", index=1)]
    plan = plan_job(owner, pods, seen=True, now=NOW)
    assert [dropped.facts.key.name for dropped in plan.drop] == ["b"]


def test_a_success_is_noted_then_released_then_counted():
    owner = job(completions=2, parallelism=2)
    noted = plan_job(owner, [one("a", "Succeeded"), one("b")], seen=True, now=NOW)
    assert noted.status["uncountedTerminatedPods"] == {"succeeded": ["uid-a"]}
    assert "succeeded" not in noted.status
    assert [released.facts.key.name for released in noted.release] == ["a"]
    after = {**owner, "status": noted.status}
    counted = plan_job(after, [one("a", "Succeeded", tracked=False), one("b")], seen=True, now=NOW)
    assert counted.status["uncountedTerminatedPods"] == {}
    assert counted.status["succeeded"] == 1
    again = plan_job({**owner, "status": counted.status}, [one("b")], seen=True, now=NOW)
    assert again.status == counted.status


def test_completion_is_told_when_nothing_is_left_to_count():
    owner = job()
    first = plan_job(owner, [one("a", "Succeeded")], seen=True, now=NOW)
    assert types(first.status) == [("SuccessCriteriaMet", "CompletionsReached")]
    last = plan_job({**owner, "status": first.status}, [one("a", "Succeeded", tracked=False)], seen=True, now=NOW + 1)
    assert [kind for kind, _ in types(last.status)] == ["SuccessCriteriaMet", "Complete"]
    assert last.status["completionTime"] == timestamp(NOW + 1)
    assert [told.reason for told in last.events] == ["Completed"]


FAILED_BY_LIMIT = "BackoffLimitExceeded"


@pytest.mark.parametrize(
    ("owner", "pods", "reason"),
    [
        pytest.param(job(backoffLimit=0), [one("a", "Failed"), one("b")], FAILED_BY_LIMIT, id="no failure allowed"),
        pytest.param(job(backoffLimit=1), [one("a", "Failed"), one("b")], None, id="one failure allowed"),
        pytest.param(
            job(backoffLimit=2, status={"failed": 2}), [one("a", "Failed")], FAILED_BY_LIMIT, id="one too many"
        ),
        pytest.param(
            job(restart="OnFailure", backoffLimit=3), [one("a", restarts=3)], FAILED_BY_LIMIT, id="restarted too often"
        ),
        pytest.param(job(restart="OnFailure", backoffLimit=3), [one("a", restarts=2)], None, id="restarted"),
        pytest.param(
            job(activeDeadlineSeconds=10, status={"startTime": timestamp(NOW - 10)}),
            [one("a")],
            "DeadlineExceeded",
            id="too late",
        ),
        pytest.param(
            job(activeDeadlineSeconds=10, status={"startTime": timestamp(NOW - 9)}), [one("a")], None, id="in time"
        ),
    ],
)
def test_a_job_fails_for_a_reason_and_ends_what_runs(owner, pods, reason):
    plan = plan_job(owner, pods, seen=True, now=NOW)
    assert types(plan.status) == ([("FailureTarget", reason)] if reason else [])
    running = [entry.facts for entry in pods if entry.facts.phase == "Running"]
    assert list(plan.end) == (running if reason else [])


@pytest.mark.parametrize(
    ("rule", "code", "failed", "verdict"),
    [
        ({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3]}}, 3, 1, "PodFailurePolicy"),
        ({"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [3]}}, 3, 1, None),
        ({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}}, 3, 0, None),
        ({"action": "Count", "onExitCodes": {"operator": "In", "values": [3]}}, 3, 1, None),
        (
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [3], "containerName": "other"}},
            3,
            1,
            None,
        ),
    ],
)
def test_a_rule_says_what_an_exit_code_means(rule, code, failed, verdict):
    owner = job(podFailurePolicy={"rules": [rule]})
    plan = plan_job(owner, [one("a", "Failed", codes=[code])], seen=True, now=NOW)
    assert len(plan.status["uncountedTerminatedPods"].get("failed", ())) == failed
    assert types(plan.status) == ([("FailureTarget", verdict)] if verdict else [])


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([], 0.0),
        ([("Failed", 0)], 10.0),
        ([("Failed", -4)], 6.0),
        ([("Failed", -100), ("Failed", 0)], 20.0),
        ([("Failed", -9), ("Failed", -5), ("Failed", 0)], 40.0),
        ([("Failed", -9), ("Succeeded", -5), ("Failed", 0)], 10.0),
        ([("Failed", -9), ("Succeeded", 0)], 0.0),
        ([("Failed", 0)] * 12, 600.0),
    ],
)
def test_each_failure_since_the_last_success_doubles_the_pause(ends, expected):
    pods = [one(f"p{place}", phase, ended=NOW + ended) for place, (phase, ended) in enumerate(ends)]
    assert seconds_to_retry(job(), pods, NOW) == expected


def test_a_pause_is_waited_for():
    plan = plan_job(job(), [one("a", "Failed", ended=NOW - 3)], seen=True, now=NOW)
    assert plan.create == ()
    assert plan.look_again_seconds == 7.0


def test_a_resumed_job_starts_its_clock_again():
    suspended = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
    owner = job(status={"conditions": [suspended], "startTime": timestamp(NOW - 500)})
    plan = plan_job(owner, [], seen=True, now=NOW)
    assert types(plan.status) == [("Suspended", "JobResumed")]
    assert plan.status["startTime"] == timestamp(NOW)


def test_a_finished_job_is_kept_for_its_time():
    done = {"type": "Complete", "status": "True", "lastTransitionTime": timestamp(NOW - 20)}
    assert seconds_to_expiry(job(ttlSecondsAfterFinished=30, status={"conditions": [done]}), NOW) == 10.0
    assert seconds_to_expiry(job(status={"conditions": [done]}), NOW) is None
    assert seconds_to_expiry(job(ttlSecondsAfterFinished=30), NOW) is None


@pytest.mark.parametrize(
    ("indexes", "text"), [([], ""), ([0], "0"), ([0, 1], "0,1"), ([0, 1, 2], "0-2"), ([9, 1, 2, 4, 5, 6], "1,2,4-6,9")]
)
def test_indexes_are_written_and_read(indexes, text):
    assert write_indexes(indexes) == text
    assert read_indexes(text) == set(indexes)


def test_a_pod_is_made_with_its_finalizer_and_its_owner():
    [made] = plan_job(job(), [], seen=True, now=NOW).create
    assert made["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert [owner["name"] for owner in made["metadata"]["ownerReferences"]] == [name_of(job())]
