"""Each division gives what its name says, keeps within room, and says what is missing."""

import pytest

from hanse.placement import (
    Aggregated,
    ByCapacity,
    ByFreeCapacity,
    Candidate,
    ClusterTerm,
    Duplicated,
    Equally,
    Placement,
    Preference,
    Preferences,
    State,
    Weighted,
    WeightRule,
    decide,
)
from hanse.placement.cluster_selector import where

# Rooms of 2, 4 and 10 replicas of one CPU; in all the nodes hold 10, 10 and 20.
FLEET = [
    Candidate("a", {"tier": "gold"}, capacity={"cpu": 10_000}, free={"cpu": 2_000}),
    Candidate("b", {"tier": "gold"}, capacity={"cpu": 10_000}, free={"cpu": 4_900}),
    Candidate("c", {}, capacity={"cpu": 20_000}, free={"cpu": 10_000}),
]
CPU = {"cpu": 1000}
GOLD = Weighted((WeightRule(ClusterTerm(), 1), WeightRule(ClusterTerm(where("tier=gold")), 2)))

CASES = {
    "equal": (Equally(), None, 9, {}, [3, 3, 3]),
    "equal, as far as there is room": (Equally(), CPU, 14, {}, [2, 4, 8]),
    "all everywhere": (Duplicated(), None, 9, {}, [9, 9, 9]),
    "weights": (GOLD, None, 10, {}, [4, 4, 2]),
    "weights, as far as there is room": (GOLD, CPU, 10, {}, [2, 4, 4]),
    "a weight of nothing": (Weighted((WeightRule(ClusterTerm(names=("c",)), 1),)), None, 5, {}, [0, 0, 5]),
    "by capacity": (ByCapacity(), CPU, 8, {}, [2, 2, 4]),
    "by free room": (ByFreeCapacity(), CPU, 8, {}, [1, 2, 5]),
    "by free room, what runs stays": (ByFreeCapacity(), CPU, 9, {"a": 6}, [6, 1, 2]),
    "by free room, in proportion less": (ByFreeCapacity(), CPU, 6, {"a": 6, "b": 6}, [3, 3, 0]),
    "into few": (Aggregated(), CPU, 8, {}, [0, 0, 8]),
    "into few, spilling over": (Aggregated(), CPU, 12, {}, [0, 2, 10]),
    "into few, where it is already": (Aggregated(), CPU, 5, {"a": 3}, [5, 0, 0]),
    "into few, less where least is": (Aggregated(), CPU, 4, {"a": 3, "b": 1, "c": 2}, [3, 0, 1]),
    "into few without knowing room": (Aggregated(), None, 4, {}, None),
    "preferences, as far as there is room": (
        Preferences({"*": Preference(1), "a": Preference(1, 4)}, rebalance=True), CPU, 8, {}, [2, 3, 3]),
}  # fmt: skip


@pytest.mark.parametrize(("division", "requests", "total", "current", "expected"), CASES.values(), ids=CASES)
def test_replicas_are_divided(division, requests, total, current, expected):
    decision = decide(
        FLEET, Placement(division=division, requests=requests), replicas=total, state=State(current), key="ns/web"
    )

    counts = list(decision.replicas.values())
    assert counts == expected if expected is not None else sorted(counts) == [0, 0, total]
    assert decision.unplaced == 0


def test_what_finds_no_room_is_counted_with_a_remedy():
    for division in (Equally(), GOLD, ByCapacity(), ByFreeCapacity(), Aggregated()):
        decision = decide(FLEET, Placement(division=division, requests=CPU), replicas=20)

        assert decision.replicas == {"a": 2, "b": 4, "c": 10}, division
        assert decision.unplaced == 4
        assert "no more room" in decision.remedy


def test_weights_that_are_all_nothing_say_so():
    nothing = Weighted((WeightRule(ClusterTerm(), 0),))

    decision = decide(FLEET, Placement(division=nothing), replicas=3)

    assert (decision.unplaced, decision.remedy) == (3, "no chosen cluster has a weight; give one a weight above 0")
    assert decision.of("a").reasons[-1] == "no weight is given to it, so it gets 0"


def test_a_cluster_that_does_not_tell_its_room_gets_nothing_by_room():
    silent = Candidate("d")

    by_size = decide([*FLEET, silent], Placement(division=ByCapacity(), requests=CPU), replicas=4)
    by_room = decide([*FLEET, silent], Placement(division=ByFreeCapacity(), requests=CPU), replicas=4)

    assert by_size.of("d").reasons[-1] == "it does not tell its capacity, so it gets 0"
    assert (by_size.replicas["d"], by_room.replicas["d"]) == (0, 0)


@pytest.mark.parametrize(
    ("division", "sentence"),
    [
        (GOLD, "of 10 replicas its weight of 2 in 5 gives it 2, which is all it can take"),
        (ByCapacity(), "of 10 replicas it gets 2: its nodes can hold 10 of 40 such replicas"),
        (ByFreeCapacity(), "of 10 replicas it gets 1 after 0: what is missing goes in proportion to free room"),
        (Aggregated(), "the fewest clusters that have room are filled, those in use first, so it gets 0"),
        (Equally(), "10 replicas divided equally over 3 ready clusters give it 2, which is all it can take"),
    ],
)
def test_every_number_has_a_reason(division, sentence):
    decision = decide(FLEET, Placement(division=division, requests=CPU), replicas=10, key="ns/web")

    assert decision.of("a").reasons[-1] == sentence
