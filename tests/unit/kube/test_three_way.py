"""Three-way merge: ours wins, what we gave up goes, what others added stays."""

import pytest

from hanse.kube.patches.three_way import three_way_merge, three_way_patch

CASES = {
    "nothing to do": ({"a": 1}, {"a": 1}, {"a": 1, "theirs": 2}, {}),
    "a changed field is set": ({"a": 1}, {"a": 2}, {"a": 1}, {"a": 2}),
    "a drifted field is put back": ({"a": 1}, {"a": 1}, {"a": 9}, {"a": 1}),
    "a field we gave up goes": ({"a": 1, "b": 1}, {"a": 1}, {"a": 1, "b": 1, "c": 1}, {"b": None}),
    "a field we gave up and others removed stays gone": ({"a": 1}, {}, {"c": 1}, {}),
    "what others added stays": ({}, {"m": {"a": 1}}, {"m": {"b": 2}}, {"m": {"a": 1}}),
    "it goes deep": (
        {"m": {"a": {"x": 1, "y": 2}}}, {"m": {"a": {"x": 3}}}, {"m": {"a": {"x": 1, "y": 2, "z": 4}}},
        {"m": {"a": {"x": 3, "y": None}}}),
    "lists are replaced whole": ({"l": [1]}, {"l": [2]}, {"l": [1, 9]}, {"l": [2]}),
    "true is not one": ({"a": 1}, {"a": True}, {"a": 1}, {"a": True}),
    "an object where a value was": ({}, {"a": {"b": 1}}, {"a": 5}, {"a": {"b": 1}}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_patch_is_the_smallest(case):
    last, wanted, live, patch = case

    assert three_way_patch(last, wanted, live) == patch


def test_merging_twice_is_merging_once():
    last, wanted, live = {"a": 1, "b": 2}, {"a": 3}, {"a": 1, "b": 2, "c": 4}

    merged = three_way_merge(last, wanted, live)

    assert merged == {"a": 3, "c": 4}
    assert three_way_patch(wanted, wanted, merged) == {}
