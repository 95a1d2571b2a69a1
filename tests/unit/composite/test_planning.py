"""What must be done so that the children are those that a hook wants."""

import pytest

from hanse.api.metacontroller.kinds import LAST_APPLIED_ANNOTATION
from hanse.api.names import TEMPLATE_ANNOTATION
from hanse.composite.applying import mark, with_last_applied
from hanse.composite.children import child_id
from hanse.composite.planning import Apply, Create, Delete, Recreate, Try, Update, id_of, plan
from hanse.composite.preparing import Child
from hanse.composite.spec import Method
from hanse.kube.manifest import annotations_of, owner_reference
from hanse.kube.patches.differences import digest
from hanse.kube.resources import PODS
from tests.unit.composite.builders import catset, children, pod, rules

OWNER = owner_reference(catset())
NEW = pod(spec={"image": "cat:2"})
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def live(manifest, **metadata):
    made = with_last_applied(manifest)
    return {**made, "metadata": {**made["metadata"], "uid": f"u-{made['metadata']['name']}", **metadata}}


def planned(observed, desired, method=Method.IN_PLACE, **options):
    known = {child_id(obj): obj for obj in observed}
    return plan(known, children(*desired), rules(method), owner=OWNER, **options)


def kinds_of(found):
    return [type(action) for action in found.actions]


def test_a_missing_child_is_created_with_its_owner_and_the_memory_of_the_wish():
    (create,) = planned([], [pod()]).actions

    assert create.body["metadata"]["ownerReferences"] == [OWNER]
    assert create.body["spec"] == {"image": "cat:1"}
    assert "ownerReferences" not in annotations_of(create.body)[LAST_APPLIED_ANNOTATION]


def test_what_the_hook_does_not_want_is_deleted_by_uid():
    assert planned([live(pod("gone"))], []).actions == (Delete(child_id(pod("gone")), PODS, "u-gone"),)


def test_what_is_being_deleted_is_left_alone():
    assert planned([live(pod("gone"), **GOING), live(pod(), **GOING)], [NEW]).actions == ()


@pytest.mark.parametrize(
    ("method", "action"),
    [
        (Method.ON_DELETE, []),
        (Method.RECREATE, [Recreate]),
        (Method.IN_PLACE, [Update]),
        (Method.ROLLING_RECREATE, [Recreate]),
        (Method.ROLLING_IN_PLACE, [Update]),
    ],
)
def test_a_child_that_differs_changes_by_its_kinds_method(method, action):
    assert kinds_of(planned([live(pod())], [NEW], method)) == action


@pytest.mark.parametrize("method", list(Method))
def test_a_child_that_is_as_desired_is_left_alone(method):
    assert planned([live(pod())], [pod()], method).actions == ()


@pytest.mark.parametrize(
    ("method", "action"), [(Method.ROLLING_RECREATE, []), (Method.ROLLING_IN_PLACE, []), (Method.RECREATE, [Recreate])]
)
def test_a_child_of_a_rolling_kind_changes_only_when_it_may(method, action):
    assert kinds_of(planned([live(pod())], [NEW], method, allowed=set())) == action
    assert len(planned([live(pod())], [NEW], method, allowed={child_id(pod())}).actions) == 1


def test_a_child_is_not_made_anew_for_what_it_remembers():
    other = {**live(pod()), "metadata": {**live(pod())["metadata"], "annotations": {LAST_APPLIED_ANNOTATION: "{}"}}}
    (update,) = planned([other], [pod()], Method.RECREATE).actions

    assert update.body == live(pod())


def test_an_update_is_written_on_top_of_what_was_seen():
    (update,) = planned([live(pod(), resourceVersion="7")], [NEW]).actions

    assert update.body["metadata"]["resourceVersion"] == "7"
    assert update.body["spec"] == {"image": "cat:2"}


def test_deletions_come_first_and_the_rest_in_the_hooks_order():
    found = planned([live(pod("a")), live(pod("x"))], [pod("c"), pod("a", spec={}), pod("b")])

    assert kinds_of(found) == [Delete, Create, Update, Create]
    assert [action.child.id.name for action in found.actions[1:]] == ["c", "a", "b"]


def test_a_child_that_cannot_be_merged_stops_no_other():
    found = planned([live(pod())], [pod(spec="all"), pod("b")])

    assert kinds_of(found) == [Create]
    (problem,) = found.problems
    assert problem.id == child_id(pod())
    assert problem.sentence.startswith("Pod cat-0: spec is an object in the cluster and a string")


def away(manifest, cluster="eu"):
    (child,) = children(manifest)
    return Child(child.id._replace(cluster=cluster), child.resource, child.manifest)


@pytest.mark.parametrize("marks", [None, {}])
def test_a_child_in_another_cluster_has_neither_owner_nor_memory_there(marks):
    (create,) = plan({}, [away(pod())], rules(), owner=OWNER, marks=marks).actions

    assert create.body == pod()


@pytest.mark.parametrize("marks", [None, {}])
@pytest.mark.parametrize(
    ("method", "action"),
    [(Method.ON_DELETE, []), (Method.RECREATE, [Recreate]), (Method.IN_PLACE, [Update])],
)
def test_a_child_in_another_cluster_changes_by_its_kinds_method_whoever_merges_those_beside_the_parent(
    method, action, marks
):
    asked = {**pod(), "metadata": {**pod()["metadata"], "annotations": {TEMPLATE_ANNOTATION: digest(pod())}}}
    observed = {away(pod()).id: asked}

    assert plan(observed, [away(pod())], rules(method), owner=OWNER, marks=marks).actions == ()
    assert kinds_of(plan(observed, [away(NEW)], rules(method), owner=OWNER, marks=marks)) == action


def test_what_is_to_be_done_elsewhere_is_told_apart():
    going = away(pod("gone"), "us").id
    found = plan({going: live(pod("gone"))}, [*children(pod()), away(pod())], rules(), owner=OWNER)

    assert [id_of(action) for action in found.here.actions] == [child_id(pod())]
    assert [id_of(action) for action in found.elsewhere.actions] == [going, away(pod()).id]


@pytest.mark.parametrize(
    ("method", "action"),
    [(Method.ON_DELETE, []), (Method.RECREATE, [Try]), (Method.IN_PLACE, [Apply]), (Method.ROLLING_IN_PLACE, [Apply])],
)
def test_the_server_applies_or_tries_what_was_not_applied_yet(method, action):
    found = planned([live(pod())], [NEW], method, marks={})

    assert kinds_of(found) == action
    for each in found.actions:
        assert each.body == {**NEW, "metadata": {**NEW["metadata"], "ownerReferences": [OWNER]}}


def test_the_memory_of_merging_is_forgotten_when_the_server_applies():
    without = {**pod(), "metadata": {**pod()["metadata"], "uid": "u"}}

    assert [planned([obj], [NEW], marks={}).actions[0].forgets for obj in (live(pod()), without)] == [True, False]


@pytest.mark.parametrize("method", [Method.IN_PLACE, Method.RECREATE])
def test_what_the_server_applied_is_not_sent_again(method):
    marks = {child_id(pod()): mark(pod(), live(pod()))}

    assert planned([live(pod())], [pod()], method, marks=marks).actions == ()


def test_a_child_that_the_server_shall_keep_remembers_nothing_itself():
    (create,) = planned([], [pod()], marks={}).actions

    assert create.body == {**pod(), "metadata": {**pod()["metadata"], "ownerReferences": [OWNER]}}
