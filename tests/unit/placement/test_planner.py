"""The planner gives the results of federation v1, to the replica."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.placement.hashing import fnv1_32
from hanse.placement.planner import Preference, Preferences, plan_replicas

EQUAL = {"*": Preference(weight=1)}


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("A", 0x050C5D5E),
        ("B", 0x050C5D5D),
        ("cluster-1default/nginx", 0x6629E2C7),
        ("cluster-2default/nginx", 0x131D90BA),
        ("cluster-3default/nginx", 0x33801525),
    ],
)
def test_the_tie_break_is_fnv_1_of_cluster_and_key(text, hashed):
    assert fnv1_32(text.encode()) == hashed


SCENARIOS = {
    "equal weights": (EQUAL, True, "ABC", {}, {}, "A16 B17 C17", ""),
    "a short cluster overflows": (EQUAL, True, "ABC", {}, {"C": 6}, "A22 B22 C6", "C11"),
    "one ready cluster takes all": (EQUAL, True, "A", {}, {}, "A50", ""),
    "a maximum leaves the rest unplaced": (
        {"*": Preference(1, max_replicas=2)}, True, "ABC", {}, {}, "A2 B2 C2", ""),
    "a minimum without weight is all there is": (
        {"*": Preference(0, min_replicas=2)}, True, "ABC", {}, {}, "A2 B2 C2", ""),
    "minimum and maximum": (
        {"*": Preference(0, min_replicas=2, max_replicas=2)}, True, "ABC", {}, {}, "A2 B2 C2", ""),
    "minima beyond the total": ({"*": Preference(0, min_replicas=20)}, True, "ABC", {}, {}, "A10 B20 C20", ""),
    "a named maximum": ({**EQUAL, "C": Preference(1, max_replicas=20)}, True, "AC", {}, {}, "A30 C20", ""),
    "only the limited cluster": ({**EQUAL, "C": Preference(1, max_replicas=20)}, True, "C", {}, {}, "C20", ""),
    "a huge weight is a strict preference": (
        {"A": Preference(1000000), "B": Preference(1), "C": Preference(1)}, True, "ABC", {}, {}, "A50 B0 C0", ""),
    "a strict preference that is full": (
        {"A": Preference(1000000), "B": Preference(1), "C": Preference(1)}, True, "ABC", {}, {"A": 40},
        "A40 B5 C5", None),
    "two to one to one": (
        {"A": Preference(2), "B": Preference(1), "C": Preference(1)}, True, "ABC", {}, {}, "A25 B12 C13", ""),
    "what runs stays": (EQUAL, False, "ABC", {"A": 20}, {}, "A20 B15 C15", ""),
    "what runs stays, a short cluster": (EQUAL, False, "ABC", {"A": 20}, {"C": 6}, "A21 B23 C6", None),
    "what runs stays beyond its share": (EQUAL, False, "ABC", {"A": 30}, {"C": 6}, "A30 B14 C6", None),
}  # fmt: skip


@pytest.mark.parametrize("case", SCENARIOS.values(), ids=SCENARIOS)
def test_fifty_replicas_divide_as_the_design_of_federation_v1_says(case):
    preferences, rebalance, clusters, current, capacity, expected, overflow = case

    plan = plan_replicas(
        50, list(clusters), Preferences(preferences, rebalance), key="", current=current, capacity=capacity
    )

    assert _told(plan.replicas) == expected
    if overflow is not None:
        assert _told(plan.overflow) == overflow


def _told(replicas):
    return " ".join(f"{name}{count}" for name, count in sorted(replicas.items()))


def test_a_cluster_without_a_preference_gets_nothing():
    plan = plan_replicas(9, ["a", "b"], Preferences({"a": Preference(1)}, rebalance=True), key="")

    assert plan.replicas == {"a": 9, "b": 0}


preferences = st.builds(
    Preference,
    weight=st.integers(0, 10),
    min_replicas=st.integers(0, 8),
    max_replicas=st.none() | st.integers(8, 30),
)
fleets = st.dictionaries(st.sampled_from("abcdefgh"), preferences, min_size=1)


@given(total=st.integers(0, 60), fleet=fleets, rebalance=st.booleans(), data=st.data())
def test_any_fleet_gets_what_was_asked_or_the_plan_says_how_much_found_no_place(total, fleet, rebalance, data):
    names = data.draw(st.permutations(sorted(fleet)))
    current = data.draw(st.dictionaries(st.sampled_from(names), st.integers(0, 20)))

    plan = plan_replicas(total, names, Preferences(fleet, rebalance), key="ns/web", current=current)

    assert sum(plan.replicas.values()) + plan.unplaced == total
    assert all(0 <= plan.replicas[name] <= (fleet[name].max_replicas or total) for name in names)
    again = plan_replicas(total, sorted(names), Preferences(fleet, rebalance), key="ns/web", current=current)
    assert plan == again
