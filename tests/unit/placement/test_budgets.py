"""A disruption budget's number, and an autoscaler's limits with headroom, over many clusters."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.placement.autoscalers import Limits, with_headroom
from hanse.placement.budgets import divide_max_unavailable, divide_min_available, near_enough

MIN = {
    "even": (4, {"a": 2, "b": 2, "c": 2}, {"a": 2, "b": 1, "c": 1}),
    "by pods": (6, {"a": 6, "b": 3}, {"a": 4, "b": 2}),
    "as many as there are": (6, {"a": 3, "b": 3}, {"a": 3, "b": 3}),
    "more than there are": (9, {"a": 3, "b": 3}, {"a": 3, "b": 3}),
    "none yet": (4, {"a": 0, "b": 0}, {"a": 4, "b": 4}),
    "one has none": (4, {"a": 6, "b": 0}, {"a": 4, "b": 4}),
    "nothing asked": (0, {"a": 3, "b": 3}, {"a": 0, "b": 0}),
}
MAX = {
    "even": (3, {"a": 2, "b": 2, "c": 2}, {"a": 1, "b": 1, "c": 1}),
    "by pods": (6, {"a": 6, "b": 3}, {"a": 4, "b": 2}),
    "fewer than clusters": (1, {"a": 3, "b": 3, "c": 3}, {"a": 1, "b": 1, "c": 1}),
    "none at all": (0, {"a": 3, "b": 3}, {"a": 0, "b": 0}),
    "none yet": (2, {"a": 0, "b": 0}, {"a": 1, "b": 1}),
}


@pytest.mark.parametrize("case", MIN.values(), ids=MIN.keys())
def test_what_must_stay_available_divides_by_pods(case):
    number, pods, parts = case

    assert divide_min_available(number, pods) == parts


@pytest.mark.parametrize("case", MAX.values(), ids=MAX.keys())
def test_what_may_be_unavailable_divides_by_pods_and_never_to_nothing(case):
    number, pods, parts = case

    assert divide_max_unavailable(number, pods) == parts


@settings(max_examples=50)
@given(st.integers(0, 30), st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 9), min_size=1))
def test_clusters_that_keep_their_parts_keep_what_was_asked_for(number, pods):
    parts = divide_min_available(number, pods)

    kept = sum(min(parts[name], count) for name, count in pods.items())
    assert kept == min(number, sum(pods.values()))
    assert all(parts[name] <= count for name, count in pods.items() if count), "no drain waits for pods that never were"
    assert near_enough(parts, parts, pods)


HELD = {
    "the same": ({"a": 2, "b": 2}, True),
    "one moved": ({"a": 3, "b": 1}, True),
    "far off": ({"a": 4, "b": 0}, False),
    "less in all": ({"a": 2, "b": 1}, False),
    "one is missing": ({"a": 4}, False),
}


@pytest.mark.parametrize("case", HELD.values(), ids=HELD.keys())
def test_parts_that_are_near_enough_stay(case):
    held, stays = case

    assert near_enough(held, {"a": 2, "b": 2}, {"a": 4, "b": 3}) is stays


def test_a_part_above_the_pods_that_are_left_does_not_stay():
    assert not near_enough({"a": 2, "b": 1}, {"a": 1, "b": 2}, {"a": 1, "b": 2})


HEADROOM = {
    "no spare": (Limits(4, 8), 3, 0, Limits(4, 8)),
    "one of three": (Limits(4, 8), 3, 1, Limits(6, 12)),
    "one of three, odd": (Limits(1, 9), 3, 1, Limits(3, 15)),
    "two of three": (Limits(2, 5), 3, 2, Limits(6, 15)),
    "nothing can be spared": (Limits(4, 8), 1, 1, Limits(4, 8)),
    "nowhere": (Limits(4, 8), 0, 1, Limits(4, 8)),
}


@pytest.mark.parametrize("case", HEADROOM.values(), ids=HEADROOM.keys())
def test_limits_leave_enough_without_the_spare_clusters(case):
    asked, clusters, spare, limits = case

    assert with_headroom(asked, clusters, spare) == limits
