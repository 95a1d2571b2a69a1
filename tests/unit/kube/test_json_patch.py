"""JSON patch, against the RFC's library and the API server's sentences."""

import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.kube.patches.json_patch import JsonPatchError, apply_json_patch, json_patch_between

scalars = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "a", "b/c", "~"]))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(["a", "b", "c/d", "~e", ""]), inner, max_size=4)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(["a", "b", "c/d", "~e"]), values, max_size=4)


@given(objects, objects)
def test_the_patch_between_two_objects_leads_from_one_to_the_other(old, new):
    before = copy.deepcopy(old)
    patch = json_patch_between(old, new)
    result = apply_json_patch(old, patch)
    assert (new, before) == (result, old)


@given(objects, objects)
def test_a_patch_made_by_the_library_applies_as_there(old, new):
    patch = jsonpatch.make_patch(old, new)
    assert patch.apply(copy.deepcopy(old)) == apply_json_patch(old, patch.patch)


@given(objects)
def test_equal_objects_need_no_patch(obj):
    assert json_patch_between(obj, copy.deepcopy(obj)) == []


def test_true_and_one_are_different():
    assert json_patch_between({"a": True}, {"a": 1}) == [{"op": "replace", "path": "/a", "value": 1}]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ({"op": "add", "path": "/list/1", "value": 9}, {"list": [1, 9, 2], "map": {"k": "v"}}),
        ({"op": "add", "path": "/list/-", "value": 9}, {"list": [1, 2, 9], "map": {"k": "v"}}),
        ({"op": "add", "path": "/list/-1", "value": 9}, {"list": [1, 2, 9], "map": {"k": "v"}}),
        ({"op": "add", "path": "/map/n"}, {"list": [1, 2], "map": {"k": "v", "n": None}}),
        ({"op": "remove", "path": "/list/0"}, {"list": [2], "map": {"k": "v"}}),
        ({"op": "replace", "path": "/map/new", "value": 1}, {"list": [1, 2], "map": {"k": "v", "new": 1}}),
        ({"op": "replace", "path": "", "value": {"x": 1}}, {"x": 1}),
        ({"op": "move", "from": "/map/k", "path": "/list/0"}, {"list": ["v", 1, 2], "map": {}}),
        ({"op": "copy", "from": "/list", "path": "/map/l"}, {"list": [1, 2], "map": {"k": "v", "l": [1, 2]}}),
        ({"op": "test", "path": "/map/k", "value": "v"}, {"list": [1, 2], "map": {"k": "v"}}),
        ({"op": "test", "path": "/map/absent", "value": None}, {"list": [1, 2], "map": {"k": "v"}}),
    ],
)
def test_each_operation_does_what_an_api_server_does(op, expected):
    assert expected == apply_json_patch({"list": [1, 2], "map": {"k": "v"}}, [op])


@pytest.mark.parametrize(
    ("op", "refusal"),
    [
        (
            {"op": "add", "path": "/no/x", "value": 1},
            'add operation does not apply: doc is missing path: "/no/x": missing value',
        ),
        ({"op": "add", "value": 1}, "add operation failed to decode path: missing value"),
        (
            {"op": "add", "path": "/list/7", "value": 1},
            "error in add for path: '/list/7': Unable to access invalid index: 7: invalid index referenced",
        ),
        (
            {"op": "add", "path": "/list/x", "value": 1},
            (
                "error in add for path: '/list/x': value was not a proper array index: 'x': "
                'strconv.Atoi: parsing "x": invalid syntax'
            ),
        ),
        (
            {"op": "remove", "path": "/map/x"},
            "error in remove for path: '/map/x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            {"op": "replace", "path": "/list/7", "value": 1},
            "replace operation does not apply: doc is missing key: /list/7: missing value",
        ),
        ({"op": "test", "path": "/map/k", "value": "w"}, "testing value /map/k failed: test failed"),
        (
            {"op": "move", "path": "/map/k"},
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        ({"op": "jump", "path": "/map/k"}, "Unexpected kind: jump"),
    ],
)
def test_an_operation_that_does_not_apply_is_refused_with_the_servers_sentence(op, refusal):
    with pytest.raises(JsonPatchError) as refused:
        apply_json_patch({"list": [1, 2], "map": {"k": "v"}}, [op])
    assert refusal == str(refused.value)


def test_operations_see_what_earlier_ones_did():
    ops: list[dict[str, Any]] = [{"op": "add", "path": "/a", "value": {}}, {"op": "add", "path": "/a/b", "value": 1}]
    assert apply_json_patch({}, ops) == {"a": {"b": 1}}
