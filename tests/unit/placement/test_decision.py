"""A decision names every registered cluster and says why."""

import pytest

from hanse.placement import (
    Candidate,
    ClusterSelector,
    ClusterTerm,
    Failover,
    Fleet,
    Group,
    Placement,
    Preference,
    Preferences,
    State,
    Taint,
    Toleration,
    decide,
)

FLEET = [
    Candidate("us-east", {"region": "us"}),
    Candidate("eu-west", {"region": "eu"}),
    Candidate("ap-south", {"region": "ap"}),
]


def test_replicas_divide_equally_without_preferences():
    decision = decide(FLEET, replicas=9, key="shop/web")

    assert {verdict.cluster: verdict.replicas for verdict in decision.verdicts} == {
        "ap-south": 3,
        "eu-west": 3,
        "us-east": 3,
    }
    assert decision.of("us-east").reasons == (
        "every cluster is selected",
        "it is ready",
        "9 replicas divided equally over 3 ready clusters give it 3",
    )


def test_a_cluster_that_cannot_take_work_leaves_its_share_to_the_others_and_keeps_what_it_has():
    fleet = [*FLEET[:2], Candidate("ap-south", {}, refusal="it is offline: no answer")]

    decision = decide(fleet, replicas=9, key="shop/web")

    lost = decision.of("ap-south")
    assert (lost.chosen, lost.keep, lost.reasons[-1]) == (False, True, "it is offline: no answer")
    assert sorted(verdict.replicas for verdict in decision.verdicts if verdict.chosen) == [4, 5]


def test_an_unselected_cluster_is_told_which_requirement_it_misses():
    selector = ClusterSelector.parse([{"key": "region", "operator": "in", "values": ["us", "ap"]}])

    decision = decide(FLEET, Placement(ClusterTerm(selector)), replicas=4, key="shop/web")

    assert decision.chosen() == ["ap-south", "us-east"]
    assert decision.of("eu-west").reasons == ("the cluster selector asks for region in (us, ap), and its region is eu",)


def test_preferences_are_named_in_the_reason():
    preferences = Preferences({"us-east": Preference(2), "*": Preference(1, max_replicas=1)}, rebalance=True)

    decision = decide(FLEET, Placement(division=preferences), replicas=9, key="shop/web")

    assert decision.of("us-east").replicas == 7
    assert decision.of("eu-west").reasons[-1] == "of 9 replicas the preferences (weight 1, at most 1) give it 1"


def test_the_order_of_the_clusters_does_not_matter():
    assert decide(FLEET, replicas=7, key="x") == decide(FLEET[::-1], replicas=7, key="x")


def test_a_kind_without_replicas_goes_everywhere():
    decision = decide(FLEET)

    assert [(verdict.cluster, verdict.replicas) for verdict in decision.verdicts] == [
        ("ap-south", None),
        ("eu-west", None),
        ("us-east", None),
    ]


NAMED = {
    "names": (ClusterTerm(names=("eu-west",)), "only eu-west may be used"),
    "no names at all": (ClusterTerm(names=()), "only no cluster may be used"),
    "excluded": (ClusterTerm(excluded=("us-east",)), "it is excluded by name"),
}


@pytest.mark.parametrize(("term", "reason"), NAMED.values(), ids=NAMED)
def test_clusters_are_chosen_and_excluded_by_name(term, reason):
    decision = decide(FLEET, Placement(term))

    assert decision.of("us-east").reasons == (reason,)
    assert "us-east" not in decision.chosen()


def test_a_name_that_is_no_cluster_is_noted():
    assert decide(FLEET, Placement(ClusterTerm(names=("mars",)))).notes == (
        "the placement names mars, which is no cluster of the federation",
    )


def test_a_cordoned_cluster_keeps_what_it_has_and_takes_no_more():
    fleet = [Candidate("a", cordoned=True), Candidate("b"), Candidate("c", cordoned=True)]

    decision = decide(fleet, replicas=10, state=State(current={"a": 2, "b": 2}))

    assert decision.replicas == {"a": 2, "b": 8}
    assert decision.of("a").reasons[2] == "it is cordoned and keeps what it has"
    assert decision.of("c").reasons[-1] == "it is cordoned and takes no new work"


TAINTS = {
    "no new work without a toleration": (Taint("gpu"), (), {}, "taint gpu:NoSchedule is not tolerated"),
    "another value": (Taint("gpu", "a"), (Toleration("gpu", value="b"),), {}, "gpu=a:NoSchedule is not tolerated"),
    "tolerated by value": (Taint("gpu", "a"), (Toleration("gpu", value="a"),), {}, ""),
    "tolerated by existence": (Taint("gpu", "a"), (Toleration("gpu", "Exists"),), {}, ""),
    "everything is tolerated": (Taint("gpu", "a", "NoExecute"), (Toleration(operator="Exists"),), {}, ""),
    "another effect": (
        Taint("gpu", effect="NoExecute"), (Toleration("gpu", "Exists", effect="NoSchedule"),), {}, "not tolerated"),
    "what is there stays": (Taint("gpu"), (), {"a": 3}, ""),
    "what is there goes": (Taint("gpu", effect="NoExecute"), (), {"a": 3}, "is not tolerated"),
    "what is there goes later": (
        Taint("gpu", effect="NoExecute", since=90.0), (Toleration("gpu", "Exists", seconds=30.0),), {"a": 3}, ""),
    "its time is over": (
        Taint("gpu", effect="NoExecute", since=60.0), (Toleration("gpu", "Exists", seconds=30.0),), {"a": 3}, "not"),
    "nobody comes for a while": (
        Taint("gpu", effect="NoExecute", since=90.0), (Toleration("gpu", "Exists", seconds=30.0),), {}, "not"),
    "the shortest time counts": (
        Taint("gpu", effect="NoExecute", since=90.0),
        (Toleration("gpu", "Exists", seconds=30.0), Toleration("gpu", "Exists", seconds=5.0)), {"a": 3}, "not"),
}  # fmt: skip


@pytest.mark.parametrize(("taint", "tolerations", "current", "reason"), TAINTS.values(), ids=TAINTS)
def test_a_taint_keeps_work_away_unless_it_is_tolerated(taint, tolerations, current, reason):
    fleet = [Candidate("a", taints=(taint,)), Candidate("b")]

    decision = decide(fleet, Placement(tolerations=tolerations), replicas=6, state=State(current=current, now=100.0))

    verdict = decision.of("a")
    assert verdict.chosen == (not reason)
    assert reason in verdict.reasons[-1]
    assert sum(decision.replicas.values()) == 6


def test_a_decision_says_when_a_toleration_ends():
    taint = Taint("maintenance", effect="NoExecute", since=90.0)
    placement = Placement(tolerations=(Toleration("maintenance", "Exists", seconds=30.0),))

    decision = decide([Candidate("a", taints=(taint,))], placement, state=State(current={"a": 1}, now=100.0))

    assert decision.until == 120.0


def test_a_taint_that_asks_to_avoid_a_cluster_is_heeded_while_others_suffice():
    avoided = Candidate("a", taints=(Taint("old", effect="PreferNoSchedule"),), free={"cpu": 9000})
    roomy, full = Candidate("b", free={"cpu": 9000}), Candidate("b", free={"cpu": 2000})
    placement = Placement(requests={"cpu": 1000})

    assert decide([avoided, roomy], placement, replicas=4).replicas == {"b": 4}
    assert decide([avoided, full], placement, replicas=4).replicas == {"a": 2, "b": 2}
    assert decide([avoided], placement, replicas=4).replicas == {"a": 4}


GROUPS = (
    Group("home", ClusterTerm(names=("eu-west",))),
    Group("abroad", ClusterTerm(names=("us-east", "ap-south"))),
)


def test_the_first_group_that_can_take_the_work_has_it():
    decision = decide(FLEET, Placement(groups=GROUPS), replicas=4)

    assert decision.replicas == {"eu-west": 4}
    assert decision.of("us-east").reasons[-1] == "it is not in group home, which has the work"


def test_the_next_group_takes_over_and_gives_back():
    lost = [*FLEET[::2], Candidate("eu-west", {}, refusal="it is offline")]
    placement = Placement(groups=GROUPS)

    failed_over = decide(lost, placement, replicas=4)
    back = decide(FLEET, placement, replicas=4, state=State(current=failed_over.replicas))

    assert failed_over.replicas == {"ap-south": 2, "us-east": 2}
    assert back.replicas == {"eu-west": 4}


def test_work_stays_where_it_went_if_it_shall_not_go_back():
    placement = Placement(groups=GROUPS, failover=Failover(fail_back=False))

    decision = decide(FLEET, placement, replicas=4, state=State(current={"ap-south": 2, "us-east": 2}))

    assert decision.replicas == {"ap-south": 2, "us-east": 2}


def test_a_group_without_enough_room_is_passed_over():
    fleet = [Candidate("eu-west", free={"cpu": 3000}), Candidate("us-east", free={"cpu": 9000})]

    decision = decide(fleet, Placement(groups=GROUPS, requests={"cpu": 1000}), replicas=4)

    assert decision.replicas == {"us-east": 4}


def test_a_lost_cluster_is_waited_for_before_its_share_goes_elsewhere():
    fleet = [Candidate("a"), Candidate("b", refusal="it is offline", refused_since=100.0)]
    placement = Placement(failover=Failover(after_seconds=60.0))

    early = decide(fleet, placement, replicas=6, state=State(current={"a": 3}, now=130.0))
    late = decide(fleet, placement, replicas=6, state=State(current={"a": 3}, now=160.0))

    assert (early.replicas, early.until) == ({"a": 3}, 160.0)
    assert early.of("b").reasons[-1] == "it is offline; its share is given to others after 60 s"
    assert (late.replicas, late.until) == ({"a": 6}, None)


def test_what_may_run_only_once_is_not_started_elsewhere():
    fleet = [Candidate("a"), Candidate("b", refusal="it is offline")]
    placement = Placement(
        ClusterTerm(), failover=Failover(after_seconds=None), groups=(Group("b", ClusterTerm(names=("b",))),)
    )

    decision = decide(fleet, placement, replicas=1)

    assert decision.chosen() == []
    assert "may still run there" in decision.of("b").reasons[-1]


def test_what_one_cluster_cannot_be_relied_on_for_is_said_in_its_verdict():
    decision = decide(FLEET, state=State(refusals={"eu-west": "it tells nothing"}))

    assert decision.of("eu-west").reasons[-1] == "it tells nothing"
    assert decision.of("eu-west").keep


def test_an_index_follows_the_clusters():
    fleet = Fleet(FLEET)
    europe = Placement(ClusterTerm(ClusterSelector.parse([{"key": "region", "operator": "=", "values": ["eu"]}])))
    assert decide(fleet, europe).chosen() == ["eu-west"]

    fleet.put(Candidate("ap-south", {"region": "eu"}))
    fleet.put(Candidate("eu-north", {"region": "eu"}))
    fleet.remove("us-east")
    fleet.put(Candidate("eu-west", {"region": "eu"}, refusal="it is offline"))

    assert fleet.names == ["ap-south", "eu-north", "eu-west"]
    assert decide(fleet, europe).chosen() == ["ap-south", "eu-north"]
