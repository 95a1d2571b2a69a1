"""Work is spread over as many parts of the fleet as asked for, and an impossible ask changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.placement import Candidate, ClusterTerm, Duplicated, Placement, Spread, State, Weighted, WeightRule, decide
from hanse.placement.skew import within_skew

few = settings() if settings().max_examples > 100 else settings(max_examples=40)

FLEET = [
    Candidate("eu-1", {"rack": "r1"}, region="eu", zones=("eu-a",), provider="gcp", free={"cpu": 4000}),
    Candidate("eu-2", {"rack": "r2"}, region="eu", zones=("eu-b",), provider="gcp", free={"cpu": 4000}),
    Candidate("us-1", {"rack": "r1"}, region="us", zones=("us-a",), provider="aws", free={"cpu": 8000}),
    Candidate("us-2", {}, region="us", zones=("us-a", "us-b"), provider="aws", free={"cpu": 1000}),
    Candidate("ap-1", {}, region="ap", zones=("ap-a",), provider="aws", free={"cpu": 1000}),
    Candidate("edge", {}),
]


def regions(decision):
    return {candidate.region for candidate in FLEET if candidate.name in decision.chosen()}


CASES = {
    "at most two regions": ((Spread("region", 1, 2),), lambda names: len({name[:2] for name in names}) == 2),
    "exactly three regions": ((Spread("region", 3, 3),), lambda names: len(names) == 5),
    "one provider": ((Spread("provider", 1, 1),), lambda names: len(names) in (2, 3)),
    "two clusters": ((Spread("cluster", 2, 2),), lambda names: len(names) == 2),
    "two regions, one cluster of each": (
        (Spread("region", 2, 2), Spread("cluster", 2, 2)), lambda names: len({name[:2] for name in names}) == 2),
    "three regions, four clusters": (
        (Spread("region", 3, 3), Spread("cluster", 1, 4)),
        lambda names: len(names) == 4 and len({name[:2] for name in names}) == 3),
    "any label": ((Spread("rack", 2),), lambda names: set(names) == {"eu-1", "eu-2", "us-1"}),
    "zones": ((Spread("zone", 2, 2),), lambda names: len(names) == 2),
}  # fmt: skip


@pytest.mark.parametrize(("spread", "holds"), CASES.values(), ids=CASES)
def test_as_many_parts_are_used_as_asked_for(spread, holds):
    decision = decide(FLEET, Placement(spread=spread), key="shop/web")

    assert holds(decision.chosen()), decision.chosen()
    assert decision.notes == ()


def test_a_cluster_that_belongs_to_no_part_is_not_used():
    decision = decide(FLEET, Placement(spread=(Spread("region"),)))

    assert decision.of("edge").reasons[-1] == "it has no region, over which work is spread"


def test_where_work_is_already_comes_first():
    placement = Placement(spread=(Spread("region", 1, 1), Spread("cluster", 1, 1)))
    for name in ("eu-2", "us-2", "ap-1"):
        assert decide(FLEET, placement, replicas=3, state=State(current={name: 3})).replicas == {name: 3}


def test_parts_with_enough_room_are_preferred():
    placement = Placement(spread=(Spread("region", 1, 1),), requests={"cpu": 1000})

    assert regions(decide(FLEET, placement, replicas=9, key="any")) == {"us"}


def test_an_impossible_ask_says_why_and_leaves_everything_as_it_is():
    placement = Placement(spread=(Spread("region", 4),))

    nowhere = decide(FLEET, placement, replicas=5)
    running = decide(FLEET, placement, replicas=5, state=State(current={"eu-1": 2, "us-1": 1}))

    assert nowhere.notes == (
        (
            "at least 4 regions are asked for and only ap, eu, us can be used: "
            "lower minGroups, raise maxGroups or let more clusters be chosen"
        ),
    )
    assert (nowhere.chosen(), nowhere.unplaced) == ([], 5)
    assert (running.replicas, running.unplaced) == ({"eu-1": 2, "us-1": 1}, 2)


def test_constraints_that_contradict_each_other_are_impossible():
    decision = decide(FLEET, Placement(spread=(Spread("region", 3), Spread("cluster", 1, 2))))

    assert decision.chosen() == []
    assert "at least 3 regions are asked for" in decision.notes[0]


def test_regions_differ_by_no_more_than_the_skew():
    decision = decide(FLEET, Placement(spread=(Spread("region", 3, max_skew=1),)), replicas=10, key="shop/web")

    by_region = {"eu": 0, "us": 0, "ap": 0}
    for name, count in decision.replicas.items():
        by_region[name[:2]] += count
    assert sorted(by_region.values()) == [3, 3, 4]
    assert (
        f"region ap gets {by_region['ap']} of 10 replicas, no two differing by more than 1"
        in (decision.of("ap-1").reasons[-1])
    )


def test_a_full_region_holds_the_others_back_and_that_is_said():
    decision = decide(FLEET, Placement(spread=(Spread("region", 3, max_skew=1),), requests={"cpu": 1000}), replicas=12)

    assert decision.replicas["ap-1"] == 1
    assert decision.unplaced == 12 - 1 - 2 - 2
    assert "region ap, which takes 1; raise maxSkew or make room there" in decision.remedy


def test_duplicated_work_ignores_room_and_number():
    decision = decide(FLEET, Placement(division=Duplicated(), requests={"cpu": 4000}), replicas=3)

    assert set(decision.replicas.values()) == {3}


def test_weights_divide_within_the_chosen_parts():
    rules = (WeightRule(ClusterTerm(), 1), WeightRule(ClusterTerm(names=("eu-1",)), 3))
    placement = Placement(
        ClusterTerm(names=("eu-1", "eu-2")), spread=(Spread("region", 1, 1),), division=Weighted(rules)
    )

    assert decide(FLEET, placement, replicas=8).replicas == {"eu-1": 6, "eu-2": 2}


@few
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 50)), min_size=1, max_size=6), st.integers(0, 5))
def test_levels_stay_within_the_skew_the_limits_and_the_total(parts, skew):
    wished, most = [wish for wish, _ in parts], [max(wish, limit) for wish, limit in parts]

    levels = within_skew(sum(wished), wished, most, skew)

    assert max(levels) - min(levels) <= skew
    assert sum(levels) <= sum(wished)
    assert all(level <= limit for level, limit in zip(levels, most, strict=True))
    if sum(levels) < sum(wished):
        # Whatever is missing could not be given: each part is full or as far above the lowest as allowed.
        assert all(level == limit or level == min(levels) + skew for level, limit in zip(levels, most, strict=True))
