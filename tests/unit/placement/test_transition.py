"""Replicas move without a healthy one being lost on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.placement.transition import Holding, next_replicas

CASES = {
    "a first placement is asked for at once": (9, {"a": 3, "b": 3, "c": 3}, {}, {"a": 3, "b": 3, "c": 3}),
    "growth happens at once": (9, {"a": 4, "b": 5}, {"a": (3, 3), "b": (3, 3)}, {"a": 4, "b": 5}),
    "a healed cluster is filled before the others give": (
        9, {"a": 3, "b": 3, "c": 3}, {"a": (5, 5), "b": (4, 4)}, {"a": 5, "b": 4, "c": 3}),
    "the others give as much as is ready elsewhere": (
        9, {"a": 3, "b": 3, "c": 3}, {"a": (5, 5), "b": (4, 4), "c": (3, 2)}, {"a": 3, "b": 4, "c": 3}),
    "the others give the rest once all is ready": (
        9, {"a": 3, "b": 3, "c": 3}, {"a": (5, 5), "b": (4, 4), "c": (3, 3)}, {"a": 3, "b": 3, "c": 3}),
    "what is not available may go at any time": (9, {"a": 3, "b": 6}, {"a": (5, 3), "b": (6, 2)}, {"a": 3, "b": 6}),
    "a smaller wish is met at once": (
        3, {"a": 1, "b": 1, "c": 1}, dict.fromkeys("abc", (3, 3)), {"a": 1, "b": 1, "c": 1}),
    "a deselected cluster drains": (4, {"a": 4}, {"a": (2, 2), "b": (2, 2)}, {"a": 4, "b": 2}),
    "a deselected cluster ends at nothing": (4, {"a": 4}, {"a": (4, 4), "b": (2, 2)}, {"a": 4, "b": 0}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_next_step(case):
    wanted, planned, held, expected = case

    assert next_replicas(wanted, planned, {name: Holding(*pair) for name, pair in held.items()}) == expected


holdings = st.builds(
    lambda replicas, gone: Holding(replicas, max(0, replicas - gone)), st.integers(0, 9), st.integers(0, 9)
)


@given(
    planned=st.dictionaries(st.sampled_from("abcd"), st.integers(0, 9)),
    held=st.dictionaries(st.sampled_from("abcde"), holdings),
)
def test_no_step_takes_the_federation_below_what_is_wanted_or_available(planned, held):
    wanted = sum(planned.values())
    before = sum(holding.available for holding in held.values())

    after = next_replicas(wanted, planned, held)

    still = sum(min(held[name].available, after[name]) for name in held)
    assert still >= min(before, wanted)
    assert all(after[name] >= count for name, count in planned.items())


@given(planned=st.dictionaries(st.sampled_from("abcd"), st.integers(0, 9), min_size=1))
def test_a_plan_that_is_reached_stays(planned):
    held = {name: Holding(count, count) for name, count in planned.items()}

    assert next_replicas(sum(planned.values()), planned, held) == planned
