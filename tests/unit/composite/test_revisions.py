"""The versions of a parent: what each fixes, how it is named and stored."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.api.metacontroller.kinds import (
    CONTROLLER_UID_LABEL,
    REVISION_GROUP_LABEL,
    REVISION_RESOURCE_LABEL,
    ROLLOUT_ANNOTATION,
)
from hanse.composite.children import ChildId
from hanse.composite.rolling.revisions import (
    Failure,
    Revision,
    RevisionStore,
    patch_of,
    revision_labels,
    revision_name,
    revisions_of,
    with_latest,
    with_patch,
)
from hanse.kube.resources import CONFIGMAPS, NODES, PODS, Resource
from hanse.kube.selectors import LabelSelector
from tests.unit.composite.builders import SETS, catset

SPEC = (("spec",),)
TEMPLATE = (("spec", "template"), ("spec", "image"))
OWN_LABELS = {REVISION_GROUP_LABEL: "ctl.example.com", REVISION_RESOURCE_LABEL: "catsets"}


@pytest.mark.parametrize(
    ("spec", "paths", "patch"),
    [
        ({"template": 1, "replicas": 2}, (("spec", "template"),), {"spec": {"template": 1}}),
        ({"template": 1, "image": "a", "replicas": 2}, TEMPLATE, {"spec": {"template": 1, "image": "a"}}),
        ({"replicas": 2}, TEMPLATE, {}),
        ({"template": None}, TEMPLATE, {"spec": {"template": None}}),
        ({"template": 1}, SPEC, {"spec": {"template": 1}}),
    ],
)
def test_a_patch_has_the_fields_that_roll_and_no_others(spec, paths, patch):
    assert patch_of({"metadata": {"name": "x"}, "spec": spec}, paths) == patch


def test_a_parent_of_another_version_differs_in_those_fields_alone():
    now = {"metadata": {"name": "x"}, "spec": {"template": 2, "image": "b", "replicas": 5}}

    assert with_patch(now, {"spec": {"template": 1}}, TEMPLATE) == {
        "metadata": {"name": "x"},
        "spec": {"template": 1, "replicas": 5},
    }
    assert with_patch({"metadata": {}}, {}, TEMPLATE) == {"metadata": {}}
    assert now["spec"] == {"template": 2, "image": "b", "replicas": 5}


specs = st.dictionaries(st.sampled_from(["template", "image", "replicas"]), st.integers(0, 2))


@settings(max_examples=30)
@given(specs, specs)
def test_the_patch_of_a_parent_with_a_patch_is_that_patch(then, now):
    patch = patch_of({"spec": then}, TEMPLATE)
    back = with_patch({"spec": now}, patch, TEMPLATE)

    assert patch_of(back, TEMPLATE) == patch
    assert back["spec"].get("replicas") == now.get("replicas")


def test_a_name_tells_the_parent_and_the_patch_and_nothing_else():
    one = revision_name(catset(), SETS, {"a": 1, "b": 2})

    assert one == revision_name(catset(name="renamed"), SETS, {"b": 2, "a": 1})
    assert one != revision_name(catset(uid="u-2"), SETS, {"a": 1, "b": 2})
    assert one != revision_name(catset(), SETS, {"a": 1})
    assert one.rpartition("-")[0] == "catsets.ctl.example.com"
    assert revision_name(catset(), PODS, {}).startswith("pods.core-")


def test_a_name_is_never_too_long():
    assert len(revision_name(catset(), Resource("g" * 250, "v1", "things", "Thing"), {})) == 253


@pytest.mark.parametrize(
    ("selector", "labels"),
    [
        ("app=cats", {"app": "cats"}),
        ("app in (cats,dogs),tier", {"app": "dogs", "tier": "home"}),
        ("app in (birds,cats)", {"app": "birds"}),
        ("tier,!old,app!=x,zone", {"tier": "home", "zone": ""}),
        (f"{CONTROLLER_UID_LABEL}=u-cats", {CONTROLLER_UID_LABEL: "u-cats"}),
    ],
)
def test_revisions_carry_what_the_selector_asks_for(selector, labels):
    parent = catset(template={"metadata": {"labels": {"app": "dogs", "tier": "home", "more": "x"}}})

    found = revision_labels(parent, SETS, LabelSelector.parse(selector))

    assert found == labels | OWN_LABELS
    assert LabelSelector.parse(selector).matches(found)


STORE = RevisionStore(catset(), SETS, OWN_LABELS | {"app": "cats"}, "shop")
CHILDREN = frozenset(
    {
        ChildId("v1", "Pod", "shop", "a"),
        ChildId("v1", "Pod", "other", "a"),
        ChildId("v1", "Pod", "shop", "a", "eu"),
        ChildId("v1", "ConfigMap", "shop", "c"),
        ChildId("v1", "Node", "", "n"),
        ChildId("v1", "Node", "", "n", "eu"),
    }
)
WAITING = {ChildId("v1", "Pod", "shop", "a", "eu"): 1234.5, ChildId("v1", "ConfigMap", "shop", "c"): 1.0}
FULL = Revision({"spec": {"template": 1}}, CHILDREN, WAITING, Failure(7, "it broke"))


def read(obj, parent=None, kinds=(PODS, CONFIGMAPS, NODES)):
    return revisions_of(parent or catset(), [orjson.loads(orjson.dumps(obj))], kinds)


def test_what_is_stored_is_read_again():
    stored = STORE.written(FULL)
    (again,) = read(stored)

    assert (again.patch, again.children, again.waiting, again.failure) == (
        FULL.patch,
        FULL.children,
        FULL.waiting,
        FULL.failure,
    )
    assert again.stored == stored


def test_a_revision_is_stored_as_others_store_it():
    stored = STORE.written(Revision({"spec": {"template": 1}}, frozenset({ChildId("v1", "Pod", "shop", "a")})))

    assert stored["metadata"]["ownerReferences"][0]["uid"] == "u-cats"
    assert stored["metadata"]["labels"] == OWN_LABELS | {"app": "cats"}
    assert "annotations" not in stored["metadata"]
    assert {name: value for name, value in stored.items() if name != "metadata"} == {
        "apiVersion": "metacontroller.k8s.io/v1alpha1",
        "kind": "ControllerRevision",
        "parentPatch": {"spec": {"template": 1}},
        "children": [{"apiGroup": "", "kind": "Pod", "names": ["a"]}],
    }


def test_names_of_children_say_no_more_than_they_must():
    names = {name for entry in STORE.written(FULL)["children"] for name in entry["names"]}

    assert names == {"a", "other/a", "eu/shop/a", "c", "n", "eu//n"}


def test_the_children_of_a_cluster_scoped_parent_are_read_again():
    parent = catset(namespace="")
    children = frozenset(
        {ChildId("v1", "Pod", "a", "x"), ChildId("v1", "Pod", "b", "x"), ChildId("v1", "Node", "", "n")}
    )
    stored = RevisionStore(parent, SETS, OWN_LABELS, "default").written(Revision({}, children))

    assert stored["metadata"]["namespace"] == "default"
    assert read(stored, parent)[0].children == children


def test_claims_of_kinds_that_do_not_roll_are_passed_over():
    (again,) = read(STORE.written(FULL), kinds=(CONFIGMAPS,))

    assert again.children == {ChildId("v1", "ConfigMap", "shop", "c")}
    assert list(again.waiting) == [ChildId("v1", "ConfigMap", "shop", "c")]


def test_a_kind_in_another_version_keeps_its_claims():
    beta = Resource("", "v1beta1", "pods", "Pod")

    assert ChildId("v1beta1", "Pod", "shop", "a") in read(STORE.written(FULL), kinds=(beta,))[0].children


@pytest.mark.parametrize(
    "text", ["", "no json", "[]", '{"waiting": [{"kind": "Pod"}]}', '{"waiting": 3}', '{"failed": {"message": "x"}}']
)
def test_a_note_that_cannot_be_read_was_not_written(text):
    stored = STORE.written(Revision({}))
    stored["metadata"]["annotations"] = {ROLLOUT_ANNOTATION: text}
    (again,) = read(stored)

    assert (again.waiting, again.failure) == ({}, None)


def test_only_a_parents_own_revisions_are_read_the_newest_first():
    def stored(patch, at, **metadata):
        obj = STORE.written(Revision({"spec": patch}))
        return {**obj, "metadata": {**obj["metadata"], "creationTimestamp": at, **metadata}}

    objects = [
        stored(1, "2026-01-01T00:00:00Z"),
        stored(3, "2026-01-03T00:00:00Z"),
        stored(2, "2026-01-02T00:00:00Z"),
        stored(4, "2026-01-04T00:00:00Z", ownerReferences=[]),
        stored(5, "2026-01-05T00:00:00Z", labels={}),
    ]

    assert [each.patch["spec"] for each in revisions_of(catset(), objects, [])] == [5, 3, 2, 1]


def test_the_latest_revision_is_the_one_with_the_parents_patch():
    one, two = Revision({"spec": 1}), Revision({"spec": 2})

    assert with_latest([one, two], {"spec": 2}) == (two, (one,))
    assert with_latest([one, two], {"spec": 3}) == (Revision({"spec": 3}), (one, two))
    assert with_latest([one], {"spec": True}) == (Revision({"spec": True}), (one,))


def test_what_is_stored_already_is_not_written():
    kept, new, gone = (Revision({"spec": patch}) for patch in "abc")
    stored = {**STORE.written(kept), "more": 1}
    stored["metadata"]["resourceVersion"] = "7"
    (kept,) = read(stored)
    (changed,) = read(STORE.written(Revision({"spec": "d"})))
    changed = Revision(changed.patch, CHILDREN, stored=changed.stored)

    changes = STORE.changes([kept, new, changed], [Revision(gone.patch, stored=stored), gone])

    assert changes.create == (STORE.written(new),)
    assert changes.update == (STORE.written(changed),)
    assert changes.delete == (stored,)
    assert changes
    assert not STORE.changes([kept], [])


def test_labels_that_somebody_removed_are_put_back():
    stored = STORE.written(Revision({"spec": 1}))
    stored["metadata"]["labels"] = {"mine": "too"}

    (update,) = STORE.changes(read(stored), []).update
    assert update["metadata"]["labels"] == {"mine": "too", **STORE.labels}


def test_a_revision_is_written_on_top_of_the_version_that_was_read():
    stored = STORE.written(Revision({"spec": 1}))
    stored["metadata"]["resourceVersion"] = "7"
    (before,) = read(stored)

    assert STORE.written(Revision(before.patch, CHILDREN, stored=before.stored))["metadata"]["resourceVersion"] == "7"
