"""Demands keep clusters out and say who asks; likings order what is left; what has a place keeps it."""

import pytest

from hanse.placement import (
    Aggregated,
    Candidate,
    ClusterTerm,
    Demand,
    Failover,
    Group,
    Liking,
    Placement,
    Spread,
    State,
    decide,
)
from hanse.placement.cluster_selector import where

FLEET = [
    Candidate("a", {"region": "eu", "price": "3"}, free={"cpu": 4000}),
    Candidate("b", {"region": "eu", "price": "9"}, free={"cpu": 9000}),
    Candidate("c", {"region": "us", "price": "1"}, free={"cpu": 1000}),
    Candidate("d", {"region": "ap"}),
]
ONE = Placement(
    spread=(Spread("cluster", max_groups=1),),
    division=Aggregated(),
    failover=Failover(fail_back=False),
    at_most_once=True,
)


def one(*, demands=(), likings=(), cpu=None, current=None, **fields):
    placement = Placement(
        spread=ONE.spread,
        division=ONE.division,
        failover=ONE.failover,
        demands=demands,
        likings=likings,
        requests={"cpu": cpu} if cpu else None,
        **fields,
    )
    return decide(FLEET, placement, replicas=1, state=State(current=current or {}), key="default/web")


def term(text):
    return ClusterTerm(where(text))


def why(decision, name):
    return decision.of(name).reasons[-1]


def test_a_demand_is_met_by_any_of_its_terms():
    demand = Demand("spec.affinity", (term("region=us"), term("region=ap")))
    chosen = one(demands=(demand,)).chosen()
    assert chosen in (["c"], ["d"])


def test_all_demands_must_be_met():
    demands = (Demand("one", (term("region=eu"),)), Demand("two", (term("price>5"),)))
    assert one(demands=demands).chosen() == ["b"]


def test_a_sentence_names_who_demands_and_what_is_missing():
    decision = one(demands=(Demand("spec.nodeSelector", (term("region=eu"),)),))
    assert why(decision, "c") == "spec.nodeSelector asks for region = eu, and its region is us"


@pytest.mark.parametrize(
    ("demand", "sentence"),
    [
        (Demand("x", ()), "x selects no cluster"),
        (Demand("x", (term("region=eu"), term("price<0"))), "nor is one of 1 other terms met"),
        (Demand("x", (ClusterTerm(names=("a",)),)), "x asks for a"),
        (Demand("x", (ClusterTerm(names=()),)), "x asks for no cluster that there is"),
        (Demand("x", (ClusterTerm(excluded=("c",)),)), "x excludes it by name"),
        (Demand("x", against=(("c", "pod p is there"),)), "x: pod p is there"),
        (Demand("", against=(("c", "it said no"),)), "it said no"),
    ],
)
def test_each_way_to_miss_a_demand_is_said(demand, sentence):
    assert sentence in why(one(demands=(demand,)), "c")


def test_work_stays_where_a_demand_is_met_no_longer():
    demand = Demand("spec.nodeSelector", (term("region=eu"),))
    assert one(demands=(demand,), current={"c": 1}).chosen() == ["c"]


def test_a_lasting_demand_drives_work_out():
    demand = Demand("answers", against=(("c", "it said no"),), lasting=True)
    assert one(demands=(demand,), current={"c": 1}, cpu=500).chosen() == ["b"]


def test_most_room_wins_where_nothing_is_liked():
    assert one(cpu=500).chosen() == ["b"]


def test_what_is_liked_most_comes_first_though_it_has_less_room():
    decision = one(cpu=500, likings=(Liking(term("price<5"), 40), Liking(term("region=us"), 1)))
    assert decision.chosen() == ["c"]
    assert "it is in group of preference 41, the first that can take the work" in decision.of("c").reasons
    assert why(decision, "b") == "it is not in group of preference 41, which has the work"


def test_what_is_liked_next_has_the_work_where_the_first_has_no_room():
    assert one(cpu=2000, likings=(Liking(term("price<5"), 40), Liking(term("region=us"), 1))).chosen() == ["a"]


def test_what_is_disliked_comes_last():
    assert one(cpu=500, likings=(Liking(term("region=eu"), -10),)).chosen() == ["c"]


def test_work_does_not_leave_for_a_cluster_that_is_liked_more():
    assert one(cpu=500, likings=(Liking(term("region=us"), 10),), current={"a": 1}).chosen() == ["a"]


def test_likings_order_the_clusters_of_each_group():
    groups = (Group("near", term("region=eu")), Group("far", ClusterTerm()))
    assert one(groups=groups, likings=(Liking(term("price<5"), 5),)).chosen() == ["a"]


def test_a_cluster_that_does_not_tell_its_room_is_passed_over_by_default():
    demand = Demand("x", (term("region=ap"),))
    assert one(demands=(demand,), cpu=500).unplaced == 1


def test_a_cluster_that_does_not_tell_its_room_comes_last_where_it_counts_as_having_some():
    assert one(cpu=500, untold_room=True).chosen() == ["b"]
    decision = one(cpu=50_000, untold_room=True)
    assert decision.chosen() == ["d"]
    assert decision.unplaced == 0


def test_room_promised_to_others_leaves_a_silent_cluster_as_it_is():
    placement = Placement(spread=ONE.spread, division=ONE.division, requests={"cpu": 50_000}, untold_room=True)
    decision = decide(FLEET, placement, replicas=1, state=State(promised={"d": {"cpu": 1}}), key="k")
    assert decision.chosen() == ["d"]
