"""Merging what a hook asked for last, what it asks for now, and what is there."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.composite.merging import MergeProblem, merged

WEB = {"name": "web", "image": "nginx:1"}
SIDECAR = {"name": "sidecar", "image": "envoy"}


@pytest.mark.parametrize(
    ("observed", "last", "desired", "expected"),
    [
        pytest.param({"a": 1}, {}, {"a": 2}, {"a": 2}, id="a scalar is taken from what is desired"),
        pytest.param({}, {}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="what is missing is added"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {}, {"b": 2}, id="what was applied and is no longer desired goes"),
        pytest.param({"a": 1}, {}, {}, {"a": 1}, id="what others added stays"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {}}, {"a": {"c": 2}}, id="objects are merged"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 1}}, {}, {}, id="an object that was applied goes whole"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, {"a": [3]}, {"a": [3]}, id="a list of scalars is replaced"),
        pytest.param({"a": [1, 2]}, {"a": [1]}, {"a": [1]}, {"a": [1]}, id="an argument that somebody added goes"),
        pytest.param({"a": None}, {}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="null gives way to anything"),
        pytest.param({"a": 1}, {"a": 1}, {"a": None}, {"a": None}, id="a null clears a scalar"),
        pytest.param({"a": "n1"}, {"a": None}, {"a": None}, {"a": "n1"}, id="a null that was applied clears no more"),
        pytest.param({}, {}, {"a": None}, {}, id="a null adds nothing"),
        pytest.param({"a": {"b": 1}}, {"a": "x"}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}, id="was of another sort"),
        pytest.param({"a": True}, {}, {"a": 1}, {"a": 1}, id="true is not one"),
        pytest.param(
            {"c": [{**WEB, "pullPolicy": "Always"}, SIDECAR]},
            {"c": [WEB]},
            {"c": [{"name": "web", "image": "nginx:2"}]},
            {"c": [{"name": "web", "image": "nginx:2", "pullPolicy": "Always"}, SIDECAR]},
            id="containers are merged by name and sidecars stay",
        ),
        pytest.param(
            {"c": [SIDECAR, WEB]},
            {"c": [WEB]},
            {"c": [{"name": "new"}, {"name": "newer"}]},
            {"c": [SIDECAR, {"name": "new"}, {"name": "newer"}]},
            id="what is there keeps its place and new elements follow in order",
        ),
        pytest.param(
            {"c": [WEB, {"image": "nameless"}]},
            {"c": [WEB]},
            {"c": [SIDECAR]},
            {"c": [SIDECAR]},
            id="one element without the key and the list is replaced",
        ),
        pytest.param(
            {"p": [{"port": 80, "name": "a", "nodePort": 30000}]},
            {},
            {"p": [{"port": 80, "name": "b"}]},
            {"p": [{"port": 80, "name": "b", "nodePort": 30000}]},
            id="port comes before name",
        ),
        pytest.param(
            {"p": [{"port": 80, "nodePort": 1}]},
            {},
            {"p": [{"port": "80"}]},
            {"p": [{"port": "80", "nodePort": 1}]},
            id="keys are compared as text",
        ),
        pytest.param(
            {"p": [{"port": 53, "name": "udp", "nodePort": 1}, {"port": 53, "name": "tcp", "nodePort": 2}]},
            {},
            {"p": [{"port": 53, "name": "udp"}, {"port": 53, "name": "tcp"}]},
            {"p": [{"port": 53, "name": "udp", "nodePort": 1}, {"port": 53, "name": "tcp", "nodePort": 2}]},
            id="ports that share their number are told apart by name",
        ),
        pytest.param(
            {"p": [{"port": 53, "protocol": "UDP"}]},
            {"p": [{"port": 53, "protocol": "UDP"}]},
            {"p": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]},
            {"p": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]},
            id="and without a name none is lost",
        ),
    ],
)
def test_one_object_is_made_of_three(observed, last, desired, expected):
    before = copy.deepcopy((observed, last, desired))

    assert merged(observed, last, desired) == expected
    assert (observed, last, desired) == before


TOLERATION = {"key": "gpu", "operator": "Exists"}
NOT_READY = {"key": "not-ready", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("observed", "asked"),
    [
        pytest.param({}, {"nodeSelector": {}}, id="an empty object"),
        pytest.param({}, {"hostNetwork": False, "replicas": 0, "subdomain": "", "args": []}, id="zeros"),
        pytest.param({}, {"affinity": {"podAffinity": {}}}, id="nothing but empty objects"),
        pytest.param(
            {"tolerations": [{**TOLERATION, "effect": ""}, NOT_READY]}, {"tolerations": [TOLERATION]}, id="tolerations"
        ),
        pytest.param({"nodeName": "node-1"}, {"nodeName": None}, id="a null that was filled in"),
        pytest.param({"port": 80, "targetPort": 80}, {"port": 80, "targetPort": 0}, id="a blank that was filled in"),
        pytest.param({"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}, id="an amount"),
        pytest.param({"requests": {"cpu": "2"}}, {"requests": {"cpu": 2}}, id="an amount as a number"),
        pytest.param({"emptyDir": {"sizeLimit": "1Gi"}}, {"emptyDir": {"sizeLimit": "1024Mi"}}, id="a size"),
    ],
)
def test_what_was_asked_for_before_and_is_kept_in_another_form_is_fulfilled(observed, asked):
    assert merged(observed, asked, asked) == observed


@pytest.mark.parametrize(
    ("observed", "last", "desired"),
    [
        pytest.param({}, {}, {"hostNetwork": False}, id="a zero that was never asked for is set"),
        pytest.param({"replicas": 3}, {"replicas": 0}, {"replicas": 0}, id="a zero that somebody changed is put back"),
        pytest.param({"key": "x"}, {"key": ""}, {"key": ""}, id="so is an empty text"),
        pytest.param(
            {"tolerations": [NOT_READY]}, {"tolerations": [TOLERATION]}, {"tolerations": [TOLERATION]}, id="gone"
        ),
        pytest.param(
            {"tolerations": [TOLERATION, NOT_READY]},
            {"tolerations": [TOLERATION, NOT_READY]},
            {"tolerations": [TOLERATION]},
            id="an element that is no longer desired goes",
        ),
        pytest.param({"env": {"cpu": "1"}}, {"env": {"cpu": "1000m"}}, {"env": {"cpu": "1000m"}}, id="no amount"),
        pytest.param({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, {"limits": {"cpu": "2"}}, id="less"),
    ],
)
def test_what_really_differs_is_set(observed, last, desired):
    assert merged(observed, last, desired) == desired


@pytest.mark.parametrize(
    ("observed", "desired", "said"),
    [
        ({"spec": {"a": {"b": 1}}}, {"spec": {"a": "x"}}, "spec.a is an object in the cluster and a string"),
        ({"spec": {"a": [1]}}, {"spec": {"a": {}}}, "spec.a is a list in the cluster and an object"),
        ({"spec": {"a": [1]}}, {"spec": {"a": True}}, "spec.a is a list in the cluster and a boolean"),
        ({"c": [{"name": "web", "env": []}]}, {"c": [{"name": "web", "env": 7}]}, "c[name=web].env is a list"),
    ],
)
def test_a_value_of_another_sort_is_refused_with_its_path(observed, desired, said):
    with pytest.raises(MergeProblem) as caught:
        merged(observed, {}, desired)
    assert said in str(caught.value)


leaves = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "1"])
fields = st.sampled_from(["name", "port", "spec", "limits", "x"])
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=3), max_leaves=8
)
objects = st.dictionaries(fields, trees, max_size=3)


@settings(max_examples=40)
@given(objects, objects, objects)
def test_merging_again_changes_nothing(observed, last, desired):
    try:
        once = merged(observed, last, desired)
    except MergeProblem:
        return
    assert merged(once, desired, desired) == once


@settings(max_examples=15)
@given(objects)
def test_what_is_as_desired_stays(desired):
    assert merged(desired, desired, desired) == desired
