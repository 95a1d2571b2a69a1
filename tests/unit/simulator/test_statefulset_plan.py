"""What a StatefulSet does next, case by case."""

import pytest

from hanse.kube.manifest import Key, name_of
from hanse.simulator.workloads.statefulset_plan import plan_statefulset
from tests.unit.simulator.workload_builders import NOW, pod, revision_of, starting, workload

CLAIM = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}


def stateful_set(replicas=3, *, strategy=None, status=None, **spec):
    strategy = strategy or {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    return workload("StatefulSet", {"replicas": replicas, "updateStrategy": strategy, **spec}, status=status)


SET = stateful_set()
OLD, NEW = revision_of(SET, 1, "nginx:1"), revision_of(SET, 2, "nginx:2")
OLD_NAME, NEW_NAME = name_of(OLD), name_of(NEW)


def plan(owner, pods, *, current=OLD, update=OLD, claims=()):
    found = {Key("default", name_of(claim)): claim for claim in claims}
    return plan_statefulset(owner, pods, current=current, update=update, claims=found, now=NOW)


def created(done):
    return [name_of(made) for made in done.create]


def deleted(done):
    return [facts.key.name for facts in done.delete]


def old(*ordinals):
    return [pod(f"web-{ordinal}", OLD_NAME) for ordinal in ordinals]


@pytest.mark.parametrize(
    ("owner", "pods", "expected_created", "expected_deleted"),
    [
        pytest.param(SET, [], ["web-0"], [], id="the first is made first"),
        pytest.param(SET, [starting("web-0", OLD_NAME)], [], [], id="the second waits for the first"),
        pytest.param(SET, old(0), ["web-1"], [], id="the second follows a ready first"),
        pytest.param(SET, old(0, 2), ["web-1"], [], id="a gap is filled"),
        pytest.param(
            stateful_set(podManagementPolicy="Parallel"), [], ["web-0", "web-1", "web-2"], [], id="all at once"
        ),
        pytest.param(stateful_set(2, ordinals={"start": 4}), [], ["web-4"], [], id="ordinals may start anywhere"),
        pytest.param(stateful_set(1), old(0, 1, 2), [], ["web-2"], id="the highest goes first"),
        pytest.param(
            stateful_set(1), [*old(0, 1), pod("web-2", OLD_NAME, deleting=True)], [], [], id="one goes at a time"
        ),
        pytest.param(
            stateful_set(1, podManagementPolicy="Parallel"), old(0, 1, 2), [], ["web-2", "web-1"], id="all go at once"
        ),
        pytest.param(
            stateful_set(1),
            [*old(0), starting("web-1", OLD_NAME), starting("web-2", OLD_NAME)],
            [],
            [],
            id="of two sick ones the lower goes first",
        ),
        pytest.param(
            stateful_set(1), [*old(0, 1), starting("web-2", OLD_NAME)], [], ["web-2"], id="the only sick one goes"
        ),
        pytest.param(
            SET, [pod("web-0", OLD_NAME, phase="Failed", ready=False)], [], ["web-0"], id="what failed makes room"
        ),
        pytest.param(stateful_set(minReadySeconds=60), old(0), [], [], id="ready is not yet available"),
    ],
)
def test_pods_come_and_go_in_order(owner, pods, expected_created, expected_deleted):
    done = plan(owner, pods)
    assert created(done) == expected_created
    assert deleted(done) == expected_deleted


def test_a_set_that_is_being_deleted_makes_nothing():
    owner = {**SET, "metadata": {**SET["metadata"], "deletionTimestamp": "2027-01-15T08:00:00Z"}}
    assert created(plan(owner, [])) == []


@pytest.mark.parametrize(
    ("strategy", "pods", "expected"),
    [
        pytest.param(None, old(0, 1, 2), ["web-2"], id="the highest is replaced first"),
        pytest.param(None, [*old(0, 1), pod("web-2", NEW_NAME)], ["web-1"], id="then the next"),
        pytest.param(None, [*old(0, 1), starting("web-2", NEW_NAME)], [], id="a new one must be ready first"),
        pytest.param(
            {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
            [*old(0, 1), pod("web-2", NEW_NAME)],
            [],
            id="below the partition nothing is replaced",
        ),
        pytest.param({"type": "OnDelete"}, old(0, 1, 2), [], id="on delete means by hand"),
    ],
)
def test_an_update_replaces_from_the_top(strategy, pods, expected):
    assert deleted(plan(stateful_set(strategy=strategy), pods, update=NEW)) == expected


@pytest.mark.parametrize(("partition", "revision"), [(0, NEW_NAME), (1, NEW_NAME), (2, OLD_NAME)])
def test_a_pod_below_the_partition_is_born_old(partition, revision):
    owner = stateful_set(strategy={"type": "RollingUpdate", "rollingUpdate": {"partition": partition}})
    [made] = plan(owner, old(0, 2), update=NEW).create
    assert name_of(made) == "web-1"
    assert made["metadata"]["labels"]["controller-revision-hash"] == revision
    assert made["spec"]["containers"][0]["image"] == ("nginx:2" if revision == NEW_NAME else "nginx:1")


def test_the_status_tells_old_from_new():
    pods = [*old(0, 1), starting("web-2", NEW_NAME)]
    assert plan(SET, pods, update=NEW).status == {
        "observedGeneration": 1,
        "replicas": 3,
        "readyReplicas": 2,
        "currentReplicas": 2,
        "updatedReplicas": 1,
        "availableReplicas": 2,
        "currentRevision": OLD_NAME,
        "updateRevision": NEW_NAME,
        "collisionCount": 0,
    }


def test_an_update_that_is_done_makes_the_new_revision_the_current_one():
    status = plan(SET, [pod(f"web-{ordinal}", NEW_NAME) for ordinal in range(3)], update=NEW).status
    assert status["currentRevision"] == status["updateRevision"] == NEW_NAME
    assert status["currentReplicas"] == 3


def claim(name, *owners):
    references = [{"kind": kind, "name": owner, "uid": uid, "controller": True} for kind, owner, uid in owners]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "ownerReferences": references}
    return {"metadata": metadata, "spec": CLAIM["spec"]}


THE_SET = ("StatefulSet", "web", "uid-of-web")
THE_POD = ("Pod", "web-1", "uid-web-1")


@pytest.mark.parametrize(
    ("deleted_policy", "scaled_policy", "owners", "replicas", "expected"),
    [
        pytest.param("Retain", "Retain", [], 2, None, id="kept for good"),
        pytest.param("Delete", "Retain", [], 2, ["StatefulSet"], id="goes with the set"),
        pytest.param("Delete", "Retain", [THE_SET], 2, None, id="is the set's already"),
        pytest.param("Retain", "Retain", [THE_SET], 2, [], id="kept from now on"),
        pytest.param("Retain", "Delete", [], 2, None, id="goes with its pod, which stays"),
        pytest.param("Retain", "Delete", [], 1, ["Pod"], id="goes with its pod, which goes"),
        pytest.param("Delete", "Delete", [THE_SET], 1, ["Pod"], id="passes from the set to the pod"),
        pytest.param("Delete", "Delete", [THE_POD], 2, ["StatefulSet"], id="and back"),
        pytest.param("Delete", "Delete", [("Pod", "web-1", "another")], 2, None, id="an earlier pod's is left alone"),
        pytest.param("Delete", "Delete", [("Other", "x", "other")], 2, None, id="another's is left alone"),
    ],
)
def test_claims_belong_to_whom_the_policy_says(deleted_policy, scaled_policy, owners, replicas, expected):
    policy = {"whenDeleted": deleted_policy, "whenScaled": scaled_policy}
    spec = {"volumeClaimTemplates": [CLAIM], "persistentVolumeClaimRetentionPolicy": policy}
    kept = claim("data-web-0", *([THE_SET] if deleted_policy == "Delete" else []))
    done = plan(stateful_set(replicas, **spec), old(0, 1), claims=[kept, claim("data-web-1", *owners)])
    changes = {name_of(change.claim): [owner["kind"] for owner in change.owners] for change in done.reown}
    assert changes == ({} if expected is None else {"data-web-1": expected})


def test_a_pod_waits_for_the_claim_that_goes_with_its_predecessor():
    owner = stateful_set(1, volumeClaimTemplates=[CLAIM])
    assert created(plan(owner, [], claims=[claim("data-web-0", ("Pod", "web-0", "earlier"))])) == []
    done = plan(owner, [])
    assert created(done) == ["web-0"]
    assert [name_of(made) for made in done.claims] == ["data-web-0"]
    [volume] = done.create[0]["spec"]["volumes"]
    assert volume == {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}
