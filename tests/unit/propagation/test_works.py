"""Wishes and answers as Work objects: what is read is what was written."""

import json
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, Resource
from hanse.propagation.comparison import Absent, Kept, Present, Released
from hanse.propagation.intent import Ref
from hanse.propagation.removal import Removal
from hanse.propagation.works import (
    Answer,
    answer_of,
    is_current,
    is_managed,
    ref_of,
    told_copy,
    wish_of,
    work_key,
    work_manifest,
    work_status,
)
from tests.unit.propagation.builders import config_intent, copy, deployment_intent

REF = Ref(DEPLOYMENTS, Key("shop", "web"))

words = st.text("abcxyz-.", min_size=1, max_size=8)
paths = st.lists(words, min_size=1, max_size=3).map(tuple)
leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
content = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=8
)
manifests = st.dictionaries(words, content, max_size=4)
uids = st.lists(words, max_size=2).map(tuple)
wishes = st.one_of(
    st.builds(
        Present,
        manifests,
        words,
        shared=st.booleans(),
        mend=st.booleans(),
        retain=st.lists(paths, max_size=3).map(tuple),
        adopt=st.booleans(),
        inherits=uids,
    ),
    st.builds(Kept, words, st.lists(st.tuples(paths, st.integers(0, 99)), max_size=3).map(tuple), uids),
    st.builds(Absent, words, uids, st.builds(Removal, words, st.none() | st.integers(0, 99))),
    st.builds(Released, words),
    st.none(),
)
kinds = st.builds(Resource, words, words, words, words, namespaced=st.booleans())
refs = st.builds(Ref, kinds, st.builds(Key, st.text("abc", max_size=3), st.text("abc:", min_size=1, max_size=60)))
answers = st.builds(
    Answer,
    generation=st.integers(0, 99),
    trouble=st.text(max_size=9),
    reason=st.text(max_size=9),
    confirmed=st.booleans(),
    copy=st.none() | manifests.filter(bool),
)


def over_the_wire(obj):
    return json.loads(json.dumps(obj))


@settings(max_examples=60, deadline=None)
@given(refs, wishes)
def test_a_wish_comes_back_as_it_went_in(ref, wish):
    work = over_the_wire(work_manifest("east", ref, wish))

    assert wish_of(work) == wish
    assert ref_of(work) == ref
    assert Key(work["metadata"]["namespace"], work["metadata"]["name"]) == work_key("east", ref)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (Present, "manifest source_uid shared mend retain adopt inherits"),
        (Kept, "source_uid numbers inherits"),
        (Absent, "source_uid inherits removal"),
        (Released, "source_uid"),
        (Removal, "propagation grace_seconds"),
    ],
)
def test_a_new_field_of_a_wish_is_written_into_works_too(kind, names):
    # Whoever adds one adds it to `work_spec`, `wish_of`, the schema of Work, the strategy above, and here.
    assert [each.name for each in fields(kind)] == names.split()


@settings(max_examples=60, deadline=None)
@given(answers)
def test_an_answer_comes_back_as_it_went_in(answer):
    assert answer_of(over_the_wire({"status": work_status(answer)})) == answer


def test_every_object_has_a_work_of_its_own_whose_name_any_server_takes():
    refs = [
        Ref(DEPLOYMENTS, Key("shop", "web")),
        Ref(CONFIGMAPS, Key("shop", "web")),
        Ref(DEPLOYMENTS, Key("sho", "pweb")),
        Ref(NAMESPACES, Key("", "shop")),
        Ref(Resource("x.io", "v1", "p" * 63, "P"), Key("n" * 63, "system:" + "x" * 246)),
    ]
    names = [work_key("east", ref).name for ref in refs]

    assert len(set(names)) == len(refs)
    assert all(len(name) <= 63 and name.replace("-", "").isalnum() and name.islower() for name in names)


@pytest.mark.parametrize(
    "spec",
    [
        {"want": "Vanished", "sourceUID": "u"},
        {"want": "Absent"},
        {"want": "Absent", "sourceUID": ""},
        {"want": "Present", "sourceUID": "u"},
        {"want": "", "sourceUID": "u"},
        {},
    ],
)
def test_a_wish_that_is_not_understood_is_none(spec):
    assert wish_of({"spec": spec}) is None


def test_an_answer_to_an_earlier_wish_is_not_current():
    work = {"metadata": {"generation": 3}, "status": {"observedGeneration": 2}}

    assert not is_current(work)
    assert is_current({**work, "status": {"observedGeneration": 3}})
    assert not is_current({"metadata": {"generation": 1}})


def test_what_is_in_a_copy_is_not_told_back_and_what_placement_needs_is():
    settings_copy = copy(config_intent(), managedFields=[{"manager": "x"}])
    web = copy(deployment_intent(), replicas=3, available=2)

    assert "data" not in told_copy(settings_copy)
    assert not {"managedFields", "resourceVersion"} & told_copy(settings_copy)["metadata"].keys()
    assert told_copy(web)["spec"]["replicas"] == 3
    assert told_copy(web)["status"]["availableReplicas"] == 2
    assert is_managed(told_copy(web))
    assert told_copy(None) is None
