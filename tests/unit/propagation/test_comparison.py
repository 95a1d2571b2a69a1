"""A member is written to only when a rendered field is missing or different."""

import pytest

from hanse.kube.schemas import schema_for
from hanse.propagation.comparison import Absent, Apply, Create, Delete, Present, Refuse, Release, Released, compare
from tests.unit.propagation.builders import UID, config_intent, copy, deployment_intent

DEPLOYMENT = schema_for("apps", "v1", "Deployment")


def wanted(intent, replicas=None):
    return Present(copy(intent, replicas) | {"metadata": copy(intent, replicas)["metadata"]}, UID)


def rendered(intent, replicas):
    obj = copy(intent, replicas)
    for name in ("uid", "resourceVersion", "generation"):
        del obj["metadata"][name]
    obj.pop("status", None)
    return Present(obj, UID)


@pytest.fixture
def live():
    """A copy as an API server stores it: defaults filled in, a sidecar injected by the member."""
    obj = copy(deployment_intent(), 3)
    obj["spec"]["progressDeadlineSeconds"] = 600
    containers = obj["spec"]["template"]["spec"]["containers"]
    containers[0]["terminationMessagePath"] = "/dev/termination-log"
    containers.insert(0, {"name": "proxy", "image": "mesh:2"})
    return obj


def test_what_a_member_adds_is_its_own(live):
    assert compare(rendered(deployment_intent(), 3), live, DEPLOYMENT) is None


def test_a_missing_object_is_created():
    want = rendered(deployment_intent(), 3)

    assert compare(want, None, DEPLOYMENT) == Create(want.manifest)


def test_a_drifted_field_is_put_back(live):
    live["spec"]["template"]["spec"]["containers"][1]["image"] = "web:edited"

    assert isinstance(compare(rendered(deployment_intent(), 3), live, DEPLOYMENT), Apply)


def test_a_removed_label_is_put_back(live):
    del live["metadata"]["labels"]["app"]

    assert isinstance(compare(rendered(deployment_intent(), 3), live, DEPLOYMENT), Apply)


def test_a_field_taken_out_of_the_template_is_noticed_by_the_digest(live):
    intent = deployment_intent()
    intent.template["spec"].pop("selector")

    assert isinstance(compare(rendered(intent, 3), live, DEPLOYMENT), Apply)


def test_somebody_elses_object_is_refused_with_their_name(live):
    live["metadata"]["annotations"]["hanse.dev/owner-uid"] = "other-uid"

    action = compare(rendered(deployment_intent(), 3), live, DEPLOYMENT)

    assert isinstance(action, Refuse)
    assert "other-uid" in action.message


def test_a_copy_that_is_being_deleted_is_waited_for(live):
    live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert isinstance(compare(rendered(deployment_intent(), 3), live, DEPLOYMENT), Refuse)


@pytest.mark.parametrize(
    ("wish", "action"), [(Absent(UID), Delete("copy-uid", "7")), (Released(UID), Release("copy-uid"))]
)
def test_only_the_very_copy_is_removed_or_released(wish, action):
    ours = copy(config_intent())
    foreign = copy(config_intent())
    foreign["metadata"]["annotations"]["hanse.dev/owner-uid"] = "another"
    unlabelled = copy(config_intent())
    unlabelled["metadata"]["labels"] = {}

    assert compare(wish, ours, None) == action
    assert compare(wish, foreign, None) is None
    assert compare(wish, unlabelled, None) is None
    assert compare(wish, None, None) is None


def test_empty_and_missing_are_the_same():
    intent = config_intent()
    intent.template["binaryData"] = {}
    have = copy(intent)
    del have["binaryData"]

    assert compare(rendered(intent, None), have, None) is None
