"""Whose children are whose."""

import pytest

from hanse.api.metacontroller.kinds import DECORATOR_ANNOTATION, MAP_ANNOTATION
from hanse.composite.claiming import adopted, attached, claim, may_adopt, released, selector_of
from hanse.kube.resources import CONFIGMAPS, PODS
from hanse.kube.selectors import LabelSelector
from tests.unit.composite.builders import catset, controller, pod

CATS = LabelSelector.parse("app=cats")
DOGS = {"app": "dogs"}
GOING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("candidate", "fate"),
    [
        pytest.param(pod(owner="u-cats"), "own", id="a child that matches"),
        pytest.param(pod(owner="u-cats", metadata=GOING), "own", id="a child that is being deleted"),
        pytest.param(pod(owner="u-cats", labels=DOGS), "release", id="a child that matches no more"),
        pytest.param(pod(), "adopt", id="an orphan that matches"),
        pytest.param(pod(labels=DOGS), None, id="an orphan that does not"),
        pytest.param(pod(metadata=GOING), None, id="an orphan that is being deleted"),
        pytest.param(pod(owner="u-other"), None, id="another one's child"),
        pytest.param(pod(namespace="other"), None, id="an orphan in another namespace"),
    ],
)
def test_each_candidate_has_one_fate(candidate, fate):
    claims = claim(catset(), {PODS: [candidate]}, CATS)

    found = {"own": claims.own[PODS], "adopt": [each for _, each in claims.adopt]}
    found["release"] = [each for _, each in claims.release]
    assert found == {"own": [], "adopt": [], "release": []} | ({fate: [candidate]} if fate else {})


def test_a_parent_that_is_being_deleted_neither_adopts_nor_releases():
    claims = claim(catset(deleting=True), {PODS: [pod(), pod(owner="u-cats", labels=DOGS)]}, CATS)

    assert (claims.own, claims.adopt, claims.release) == ({PODS: []}, (), ())


def test_a_cluster_scoped_parent_has_children_everywhere():
    claims = claim(catset(namespace=""), {PODS: [pod(namespace="a"), pod(namespace="b", owner="u-cats")]}, CATS)

    assert [obj["metadata"]["namespace"] for _, obj in claims.adopt] == ["a"]
    assert [obj["metadata"]["namespace"] for obj in claims.own[PODS]] == ["b"]


def test_every_declared_kind_is_there_even_if_empty():
    assert claim(catset(), {PODS: [], CONFIGMAPS: []}, CATS).own == {PODS: [], CONFIGMAPS: []}


def test_an_orphan_gets_its_parent_beside_its_other_owners():
    other = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u-n"}
    taken = adopted(pod(metadata={"ownerReferences": [other]}), catset())

    ours = taken["metadata"]["ownerReferences"][1]
    assert taken["metadata"]["ownerReferences"][0] == other
    assert (ours["uid"], ours["controller"], ours["blockOwnerDeletion"]) == ("u-cats", True, True)
    assert released(taken, catset())["metadata"]["ownerReferences"] == [other]
    assert released(adopted(pod(), catset()), catset()) == pod()


@pytest.mark.parametrize(
    ("fresh", "may"), [(catset(), True), (None, False), (catset(uid="u-2"), False), (catset(deleting=True), False)]
)
def test_only_a_living_parent_adopts(fresh, may):
    assert may_adopt(catset(), fresh) is may


def test_decorators_do_not_see_each_others_attachments():
    mine, yours = (pod(owner="u-cats", metadata={"annotations": {DECORATOR_ANNOTATION: name}}) for name in "ab")
    elsewhere = pod(owner="u-other", metadata={"annotations": {DECORATOR_ANNOTATION: "a"}})

    assert attached(catset(), {PODS: [mine, yours, elsewhere, pod()]}, "a") == {PODS: [mine]}


def test_outputs_are_known_by_another_annotation():
    mine = pod(owner="u-cats", metadata={"annotations": {MAP_ANNOTATION: "a"}})

    assert attached(catset(), {PODS: [mine]}, "a", MAP_ANNOTATION) == {PODS: [mine]}
    assert attached(catset(), {PODS: [mine]}, "a") == {PODS: []}


def test_a_generated_selector_takes_the_place_of_the_parents():
    assert str(selector_of(catset(), controller(generate_selector=True))) == "controller-uid=u-cats"
    assert str(selector_of(catset(), controller())) == "app=cats"


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ({}, "must be given and must not be empty"),
        ({"app": "cats"}, "must be given and must not be empty"),
        ({"matchLabels": ["app"]}, "must have matchLabels (an object of strings)"),
        ({"matchLabels": {"app": 1}}, "must have matchLabels (an object of strings)"),
        ("app=cats", "must have matchLabels (an object of strings)"),
        ({"matchExpressions": [{"key": "app", "operator": "Like"}]}, "is not a valid label selector operator"),
    ],
)
def test_a_parent_that_selects_nothing_readable_is_told_so(selector, said):
    sentence = selector_of(catset(selector=selector), controller())

    assert sentence.startswith("spec.selector: ")
    assert said in sentence
