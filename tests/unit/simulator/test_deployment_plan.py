"""The next step of a Deployment and what its status says about it."""

from hanse.kube.conditions import find_condition
from hanse.kube.runtime import timestamp
from hanse.simulator.workloads.deployment_plan import plan_deployment
from hanse.simulator.workloads.revisions import new_replica_set
from hanse.simulator.workloads.rollout import bounds_of

NOW = 1_700_000_000.0
REVISION = "deployment.kubernetes.io/revision"


def deployment(replicas=4, image="nginx:1", status=None, annotations=None, **spec):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "u1",
            "generation": 2,
            "annotations": annotations or {REVISION: "1"},
        },
        "spec": {
            "replicas": replicas,
            "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": image}]}},
            **spec,
        },
        "status": status or {},
    }


def replica_set(image="nginx:1", replicas=4, available=4, revision=1, wanted=4):
    of = deployment(wanted, image)
    made = new_replica_set(of, revision=revision, replicas=replicas, bounds=bounds_of(of))
    made["metadata"] |= {"creationTimestamp": str(revision), "generation": 1}
    made["status"] = {"replicas": replicas, "readyReplicas": available, "availableReplicas": available}
    made["status"]["observedGeneration"] = 1
    return made


def plan(desired, *replica_sets, old_running=False, now=NOW):
    return plan_deployment(desired, replica_sets, old_running=old_running, now=now)


def sizes(found):
    return {change.replica_set["metadata"]["name"]: change.replicas for change in found.changes}


def condition_of(found, kind):
    return find_condition(found.status["conditions"], kind) or {}


def progressing(found):
    return condition_of(found, "Progressing")


def test_a_new_deployment_makes_its_first_replica_set():
    found = plan(deployment(annotations={"team": "x"}))
    assert found.create["spec"]["replicas"] == 4
    assert found.create["metadata"]["annotations"]["team"] == "x"
    assert found.revision == "1"
    assert progressing(found)["reason"] == "NewReplicaSetCreated"
    assert progressing(found)["message"] == f'Created new replica set "{found.create["metadata"]["name"]}"'
    assert condition_of(found, "Available")["reason"] == "MinimumReplicasUnavailable"


def test_a_complete_deployment_needs_nothing():
    first = plan(deployment(), replica_set())
    again = plan(deployment(status=first.status), replica_set())
    assert progressing(first)["reason"] == "NewReplicaSetAvailable"
    assert again.status == first.status
    assert (again.create, again.changes, again.forget, again.revision) == (None, (), (), "")
    assert again.look_again_seconds is None


def test_a_new_image_makes_a_second_replica_set_as_large_as_the_surge():
    found = plan(deployment(image="nginx:2"), replica_set())
    assert found.create["spec"]["replicas"] == 1
    assert found.revision == "2"


def test_a_recreate_waits_for_the_end_of_old_pods():
    desired = deployment(image="nginx:2", strategy={"type": "Recreate"})
    shrinking = plan(desired, replica_set())
    assert (shrinking.create, list(sizes(shrinking).values())) == (None, [0])
    waiting = plan(desired, replica_set(replicas=0, available=0), old_running=True)
    assert (waiting.create, waiting.changes) == (None, ())
    starting = plan(desired, replica_set(replicas=0, available=0))
    assert starting.create["spec"]["replicas"] == 4


def test_a_paused_deployment_scales_but_does_not_roll():
    found = plan(deployment(replicas=6, image="nginx:2", paused=True), replica_set())
    assert found.create is None
    assert list(sizes(found).values()) == [6]
    assert (progressing(found)["status"], progressing(found)["reason"]) == ("Unknown", "DeploymentPaused")
    resumed = plan(deployment(status=found.status), replica_set(replicas=6, available=3, wanted=6))
    assert progressing(resumed)["reason"] == "DeploymentResumed"


def test_progress_is_noted_with_its_time_and_keeps_the_time_of_its_beginning():
    before = plan(deployment(), replica_set(available=1)).status
    later = plan(deployment(status=before), replica_set(available=2), now=NOW + 60)
    assert progressing(later)["reason"] == "ReplicaSetUpdated"
    assert progressing(later)["lastUpdateTime"] == timestamp(NOW + 60)
    assert progressing(later)["lastTransitionTime"] == timestamp(NOW)


def test_without_progress_the_deadline_is_awaited_and_then_said():
    before = plan(deployment(), replica_set(available=1)).status
    waiting = plan(deployment(status=before), replica_set(available=1), now=NOW + 100)
    assert waiting.look_again_seconds == 501.0
    stuck = plan(deployment(status=before), replica_set(available=1), now=NOW + 601)
    assert (progressing(stuck)["status"], progressing(stuck)["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert stuck.look_again_seconds is None


def test_a_deployment_without_deadline_has_no_progressing_condition():
    before = plan(deployment(), replica_set(available=1)).status
    found = plan(deployment(status=before, progressDeadlineSeconds=2**31 - 1), replica_set(available=1))
    assert progressing(found) == {}


def test_a_replica_set_that_cannot_create_pods_is_told_of():
    failing = replica_set(available=1)
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}
    failing["status"]["conditions"] = [{**failure, "lastTransitionTime": timestamp(NOW)}]
    found = plan(deployment(), failing)
    assert condition_of(found, "ReplicaFailure")["message"] == "exceeded quota"
    healed = plan(deployment(status=found.status), replica_set())
    assert condition_of(healed, "ReplicaFailure") == {}


def test_a_deployment_that_is_being_deleted_only_counts():
    leaving = deployment(image="nginx:2")
    leaving["metadata"]["deletionTimestamp"] = timestamp(NOW)
    found = plan(leaving, replica_set())
    assert (found.create, found.changes, found.forget) == (None, (), ())
    assert found.status["replicas"] == 4
