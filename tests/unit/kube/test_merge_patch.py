"""JSON merge patch: the RFC's table, and what the API server does beyond it."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.kube.patches.merge_patch import apply_merge_patch, merge_patch_between

leaves = st.one_of(st.booleans(), st.integers(-5, 5), st.sampled_from(["", "x"]))
plain = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=10,
)
objects = st.dictionaries(st.sampled_from("abcd"), plain, max_size=4)


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_examples_of_the_rfc(target, patch, expected):
    assert expected == apply_merge_patch(target, patch)


def test_nulls_inside_a_list_of_the_patch_are_dropped_as_the_server_does():
    assert apply_merge_patch({}, {"a": [{"b": 1, "c": None}]}) == {"a": [{"b": 1}]}


@given(objects, objects)
def test_the_patch_between_two_objects_leads_from_one_to_the_other(old, new):
    before = copy.deepcopy(old)
    assert (new, before) == (apply_merge_patch(old, merge_patch_between(old, new)), old)


@given(objects)
def test_equal_objects_need_no_patch(obj):
    assert merge_patch_between(obj, copy.deepcopy(obj)) == {}


def test_what_a_patch_does_not_reach_is_shared_not_copied():
    old = {"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 1}}
    assert apply_merge_patch(old, {"spec": {"replicas": 2}})["metadata"] is old["metadata"]


def test_a_change_from_true_to_one_is_a_change():
    assert merge_patch_between({"a": True}, {"a": 1}) == {"a": 1}
