"""Scenarios of Jobs and CronJobs."""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import annotations_of, finalizers_of, is_deleting, labels_of, name_of
from hanse.kube.resources import EVENTS, PODS
from hanse.simulator.workloads.kinds import CRON_JOBS, JOBS
from tests.behaviour.stage import Stage, template, true_conditions

INDEX = "batch.kubernetes.io/job-completion-index"
TRACKING = "batch.kubernetes.io/job-tracking"


def job_spec(**spec: Any) -> dict[str, Any]:
    # Its pods run until the scenario ends them.
    return {"template": template("work", command=["sleep", "1h"], restartPolicy="Never"), **spec}


def finished(job: dict[str, Any]) -> bool:
    return bool({"Complete", "Failed"} & set(true_conditions(job)))


async def a_job_is_complete_when_enough_pods_have_succeeded(here: Stage) -> None:
    await here.create(JOBS, "work", job_spec(completions=3, parallelism=2))
    first, second = await here.running(2, app="work")
    assert TRACKING in finalizers_of(first)
    assert labels_of(first)["batch.kubernetes.io/job-name"] == "work"
    begun = await here.until(JOBS, "work", lambda one: one["status"].get("ready") == 2)
    assert (begun["status"]["active"], begun["status"]["terminating"]) == (2, 0)
    await here.end(first)
    await here.end(second)
    [third] = await here.running(1, app="work")
    await here.end(third)
    done = await here.until(JOBS, "work", finished)
    assert true_conditions(done) == {
        "SuccessCriteriaMet": "CompletionsReached",
        "Complete": "CompletionsReached",
    }
    status = done["status"]
    assert {name: status[name] for name in ("succeeded", "ready", "terminating", "uncountedTerminatedPods")} == {
        "succeeded": 3,
        "ready": 0,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    assert "active" not in status
    assert status["startTime"] <= status["completionTime"]
    pods = await here.pods(app="work")
    assert [finalizers_of(pod) for pod in pods] == [[], [], []]


async def a_job_fails_when_too_many_pods_have(here: Stage) -> None:
    await here.create(JOBS, "work", job_spec(backoffLimit=0, parallelism=2, completions=2))
    first, _ = await here.running(2, app="work")
    await here.end(first, code=1)
    done = await here.until(JOBS, "work", finished)
    assert true_conditions(done) == {"FailureTarget": "BackoffLimitExceeded", "Failed": "BackoffLimitExceeded"}
    assert done["status"]["conditions"][0]["message"] == "Job has reached the specified backoff limit"
    assert done["status"]["failed"] == 2
    assert "completionTime" not in done["status"]
    # What still ran was ended with it.
    assert [name_of(pod) for pod in await here.pods(app="work")] == [name_of(first)]


async def indexes_are_given_out_and_noted(here: Stage) -> None:
    await here.create(JOBS, "work", job_spec(completions=4, parallelism=4, completionMode="Indexed"))
    pods = await here.running(4, app="work")
    assert [annotations_of(pod)[INDEX] for pod in pods] == ["0", "1", "2", "3"]
    assert [labels_of(pod)[INDEX] for pod in pods] == ["0", "1", "2", "3"]
    assert [pod["spec"]["hostname"] for pod in pods] == ["work-0", "work-1", "work-2", "work-3"]
    assert all(name_of(pod).startswith(f"work-{place}-") for place, pod in enumerate(pods))
    [variable] = pods[0]["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"
    for place in (0, 1, 3):
        await here.end(pods[place])
    part = await here.until(JOBS, "work", lambda one: one["status"].get("succeeded") == 3)
    assert part["status"]["completedIndexes"] == "0,1,3"
    await here.end(pods[2])
    done = await here.until(JOBS, "work", finished)
    assert done["status"]["completedIndexes"] == "0-3"


async def a_suspended_job_has_no_pods_until_it_is_resumed(here: Stage) -> None:
    await here.create(JOBS, "work", job_spec(suspend=True))
    held = await here.until(JOBS, "work", lambda one: "Suspended" in true_conditions(one))
    assert true_conditions(held) == {"Suspended": "JobSuspended"}
    assert "startTime" not in held["status"]
    assert await here.pods(app="work") == []
    await here.change(JOBS, "work", {"spec": {"suspend": False}})
    [pod] = await here.running(1, app="work")
    await here.change(JOBS, "work", {"spec": {"suspend": True}})
    await here.until_gone(PODS, name_of(pod))
    again = await here.until(JOBS, "work", lambda one: "active" not in one["status"])
    # A pod that had to go was no failure.
    assert "failed" not in again["status"]
    await here.change(JOBS, "work", {"spec": {"suspend": False}})
    [pod] = await here.running(1, app="work")
    await here.end(pod)
    done = await here.until(JOBS, "work", finished)
    assert [entry["reason"] for entry in done["status"]["conditions"] if entry["type"] == "Suspended"] == ["JobResumed"]


async def a_job_past_its_deadline_fails(here: Stage) -> None:
    await here.create(JOBS, "work", job_spec(activeDeadlineSeconds=2))
    done = await here.until(JOBS, "work", finished)
    assert true_conditions(done) == {"FailureTarget": "DeadlineExceeded", "Failed": "DeadlineExceeded"}
    assert done["status"]["conditions"][-1]["message"] == "Job was active longer than specified deadline"
    await here.until_all(PODS, lambda pods: not pods)


async def a_rule_on_exit_codes_fails_the_job_at_once(here: Stage) -> None:
    codes = {"operator": "In", "values": [42]}
    policy = {"rules": [{"action": "FailJob", "onExitCodes": codes}]}
    await here.create(JOBS, "work", job_spec(podFailurePolicy=policy, backoffLimit=6))
    [pod] = await here.running(1, app="work")
    await here.end(pod, code=42)
    done = await here.until(JOBS, "work", finished)
    assert true_conditions(done) == {"FailureTarget": "PodFailurePolicy", "Failed": "PodFailurePolicy"}
    assert done["status"]["conditions"][-1]["message"] == (
        f"Container main for pod {here.namespace}/{name_of(pod)} failed with exit code 42 "
        "matching FailJob rule at index 0"
    )


async def a_finished_job_goes_when_its_time_is_over(here: Stage) -> None:
    await here.create(JOBS, "work", job_spec(ttlSecondsAfterFinished=0))
    [pod] = await here.running(1, app="work")
    await here.end(pod)
    await here.until_gone(JOBS, "work")
    assert await here.pods(app="work") == []


async def a_deleted_job_takes_its_pods_finalizers_and_all(here: Stage) -> None:
    await here.create(JOBS, "work", job_spec(parallelism=2, completions=2))
    await here.running(2, app="work")
    await here.client.delete(JOBS, "work", here.namespace)
    await here.until_all(PODS, lambda pods: not pods)


async def a_cron_job_starts_jobs_and_forgets_old_ones(here: Stage) -> None:
    spec = {
        # Not every minute: nobody waits so long on a real cluster.
        "schedule": "@every 2s",
        "successfulJobsHistoryLimit": 0,
        "concurrencyPolicy": "Forbid",
        "jobTemplate": {"metadata": {"labels": {"made": "by-cron"}}, "spec": job_spec()},
    }
    await here.create(CRON_JOBS, "tick", spec)
    started = await here.until(CRON_JOBS, "tick", lambda one: one["status"].get("active"))
    [reference] = started["status"]["active"]
    job = await here.get(JOBS, reference["name"])
    assert labels_of(job) == {"made": "by-cron"}
    assert "batch.kubernetes.io/cronjob-scheduled-timestamp" in annotations_of(job)
    assert [owner["kind"] for owner in job["metadata"]["ownerReferences"]] == ["CronJob"]
    assert started["status"]["lastScheduleTime"] >= started["metadata"]["creationTimestamp"]
    await here.change(CRON_JOBS, "tick", {"spec": {"suspend": True}})
    [pod] = await here.running(1, app="work")
    await here.end(pod)
    done = await here.until(CRON_JOBS, "tick", lambda one: one["status"].get("lastSuccessfulTime"))
    assert not done["status"].get("active")
    await here.until_all(JOBS, lambda jobs: all(is_deleting(job) for job in jobs.values()))


async def a_job_made_from_a_cron_job_by_hand_runs_and_is_told_of(here: Stage) -> None:
    spec = {"schedule": "0 3 1 1 *", "suspend": True, "jobTemplate": {"spec": job_spec()}}
    cron_job = await here.create(CRON_JOBS, "yearly", spec)
    owner = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "yearly",
        "uid": cron_job["metadata"]["uid"],
        "controller": True,
    }
    manual = {"cronjob.kubernetes.io/instantiate": "manual"}
    await here.create(JOBS, "now", job_spec(), annotations=manual, ownerReferences=[owner])
    [pod] = await here.running(1, app="work")
    await here.end(pod)
    done = await here.until(JOBS, "now", finished)
    assert "Complete" in true_conditions(done)
    await here.until(CRON_JOBS, "yearly", lambda one: one["status"].get("lastSuccessfulTime"))
    told = await here.until_all(
        EVENTS, lambda events: [one for one in events.values() if one["reason"] == "UnexpectedJob"]
    )
    assert told[0]["message"] == "Saw a job that the controller did not create or forgot: now"


SCENARIOS = (
    a_job_is_complete_when_enough_pods_have_succeeded,
    a_job_fails_when_too_many_pods_have,
    indexes_are_given_out_and_noted,
    a_suspended_job_has_no_pods_until_it_is_resumed,
    a_job_past_its_deadline_fails,
    a_rule_on_exit_codes_fails_the_job_at_once,
    a_finished_job_goes_when_its_time_is_over,
    a_deleted_job_takes_its_pods_finalizers_and_all,
    a_cron_job_starts_jobs_and_forgets_old_ones,
    a_job_made_from_a_cron_job_by_hand_runs_and_is_told_of,
)
