"""What is written of a child, by merging and by server-side apply, and when nothing is."""

import orjson
import pytest

from hanse.api.metacontroller.kinds import LAST_APPLIED_ANNOTATION
from hanse.composite.applying import (
    as_applied,
    dry_run_difference,
    is_applied,
    is_as_desired,
    last_applied,
    mark,
    updated,
    with_last_applied,
    without_memory,
)
from hanse.kube.manifest import Obj, annotations_of
from tests.unit.composite.builders import pod


def live(desired, *, uid="u-1", generation=1, **changes):
    """A child as the server shows it after it was created by merging."""
    made = with_last_applied(desired)
    system = {"uid": uid, "resourceVersion": "7", "generation": generation, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {**made, "metadata": {**made["metadata"], **system}, "status": {"phase": "Running"}, **changes}


ZEROS: Obj = {"creationTimestamp": None, "uid": "", "resourceVersion": "1", "managedFields": [{}], "selfLink": "x"}


@pytest.mark.parametrize(
    "desired",
    [
        pytest.param(pod(), id="the same"),
        pytest.param(pod(status={}), id="a status"),
        pytest.param(pod(metadata=ZEROS), id="system fields"),
        pytest.param(live(pod(owner="u-cats")), id="what the hook was shown"),
    ],
)
def test_what_is_not_the_hooks_to_say_makes_no_difference(desired):
    assert updated(live(pod()), desired) is None


def test_an_update_keeps_what_only_the_server_writes_and_remembers_the_wish():
    observed = live(pod())
    after = updated(observed, pod(spec={"image": "cat:2"}, status={"phase": "Failed"}, metadata={"uid": "other"}))

    assert after["spec"] == {"image": "cat:2"}
    assert after["status"] == {"phase": "Running"}
    assert (after["metadata"]["uid"], after["metadata"]["resourceVersion"]) == ("u-1", "7")
    assert last_applied(after) == pod(spec={"image": "cat:2"})


def test_a_field_that_was_dropped_goes_only_if_the_hook_had_set_it():
    observed = live(pod(spec={"image": "cat:1", "nodeSelector": {"disk": "ssd"}}))
    observed["spec"] = {**observed["spec"], "nodeName": "node-1"}

    assert updated(observed, pod())["spec"] == {"image": "cat:1", "nodeName": "node-1"}


def test_the_system_fields_stay_even_if_others_listed_them_as_applied():
    observed = live(pod())
    told = {**pod(), "status": {"phase": "Running"}, "metadata": {**pod()["metadata"], "uid": "u-1", "generation": 1}}
    observed["metadata"]["annotations"][LAST_APPLIED_ANNOTATION] = orjson.dumps(told).decode()

    after = updated(observed, pod(spec={}))

    assert after["status"] == {"phase": "Running"}
    assert (after["metadata"]["uid"], after["metadata"]["generation"]) == ("u-1", 1)


def test_the_owner_of_a_child_is_not_given_away_by_a_hook_that_returned_it_once():
    observed = live(pod(owner="u-cats"))
    observed["metadata"]["ownerReferences"] = pod(owner="u-cats")["metadata"]["ownerReferences"]
    # As another implementation remembers it.
    observed["metadata"]["annotations"][LAST_APPLIED_ANNOTATION] = orjson.dumps(pod(owner="u-cats")).decode()

    assert updated(observed, pod(spec={"image": "cat:2"}))["metadata"]["ownerReferences"][0]["uid"] == "u-cats"


@pytest.mark.parametrize(
    ("field", "had", "there", "now", "left"),
    [
        pytest.param("annotations", {"a": "1"}, {"a": "1", "b": "2"}, {}, {"b": "2"}, id="annotations"),
        pytest.param(
            "labels", {"app": "cats", "a": "1"}, {"app": "cats", "a": "1", "b": "2"}, None, {"b": "2"}, id="labels"
        ),
        pytest.param("finalizers", ["a", "x"], ["a", "b", "x"], ["c", "x"], ["b", "x", "c"], id="finalizers"),
        pytest.param("finalizers", ["a"], ["a", "b"], None, ["b"], id="no more finalizers"),
        pytest.param("finalizers", None, ["b"], ["a"], ["b", "a"], id="a first finalizer"),
    ],
)
def test_others_keep_what_they_put_beside_the_hooks_own(field, had, there, now, left):
    observed = live(pod(metadata={} if had is None else {field: had}))
    kept = {LAST_APPLIED_ANNOTATION: annotations_of(observed)[LAST_APPLIED_ANNOTATION]}
    observed["metadata"][field] = {**there, **kept} if field == "annotations" else there

    desired = pod()
    desired["metadata"] = {name: value for name, value in desired["metadata"].items() if name != field}
    after = updated(observed, desired if now is None else {**desired, "metadata": {**desired["metadata"], field: now}})

    assert without_memory(after)["metadata"][field] == left


@pytest.mark.parametrize("memory", ["", "no json", "[1]"])
def test_without_a_readable_memory_nothing_is_removed(memory):
    observed = live(pod(spec={"image": "cat:1", "nodeName": "node-1"}))
    observed["metadata"]["annotations"][LAST_APPLIED_ANNOTATION] = memory

    after = updated(observed, pod())

    assert after["spec"] == {"image": "cat:1", "nodeName": "node-1"}
    assert is_as_desired(observed, pod())


def test_a_memory_that_is_spelt_otherwise_is_the_same():
    observed = live(pod())
    told = orjson.dumps(as_applied(pod()), option=orjson.OPT_INDENT_2).decode()
    observed["metadata"]["annotations"][LAST_APPLIED_ANNOTATION] = told

    assert updated(observed, pod()) is None


def test_the_memory_does_not_remember_itself():
    again = with_last_applied(with_last_applied(pod()))

    assert again == with_last_applied(pod())


@pytest.mark.parametrize(
    ("desired", "now", "applied"),
    [
        pytest.param(pod(), live(pod()), True, id="the same version"),
        pytest.param(pod(), live(pod(), generation=2), True, id="another version that has all of it"),
        pytest.param(pod(), live(pod(), generation=2, spec={"image": "evil"}), False, id="edited by hand"),
        pytest.param(pod(), live(pod(), spec={"image": "cat:1", "cpu": "1"}), True, id="completed by the server"),
        pytest.param(pod(), live(pod(), uid="u-2"), False, id="another child of that name"),
        pytest.param(pod(spec={}), live(pod()), False, id="a field less"),
        pytest.param(pod(spec={"image": {}}), live(pod()), False, id="another sort"),
    ],
)
def test_what_was_applied_is_known_again(desired, now, applied):
    assert is_applied(mark(pod(), live(pod())), desired, now) is applied


def test_a_kind_without_generations_is_known_by_its_version():
    before = live(pod(), generation=0, spec={"image": "CAT:1"})
    remembered = mark(pod(), before)
    edited = {**before, "metadata": {**before["metadata"], "resourceVersion": "8"}}

    assert is_applied(remembered, pod(), before)
    assert not is_applied(remembered, pod(), edited)


def test_nothing_is_applied_before_it_was():
    assert not is_applied(None, pod(), live(pod()))


def test_a_dry_run_tells_whether_a_child_would_change():
    observed = live(pod())
    moved = {**observed, "metadata": {**observed["metadata"], "resourceVersion": "8"}}

    assert dry_run_difference(observed, {**observed, "status": {}}) is False
    assert dry_run_difference(observed, {**observed, "spec": {"image": "cat:2"}}) is True
    assert dry_run_difference(observed, moved) == "the child has changed since it was looked at"
