"""A decision names every registered cluster and says why."""

from hanse.placement import Candidate, ClusterSelector, Preference, Preferences, decide

FLEET = [
    Candidate("us-east", {"region": "us"}),
    Candidate("eu-west", {"region": "eu"}),
    Candidate("ap-south", {"region": "ap"}),
]


def test_replicas_divide_equally_without_preferences():
    decision = decide(FLEET, ClusterSelector(), replicas=9, key="shop/web")

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

    decision = decide(fleet, ClusterSelector(), replicas=9, key="shop/web")

    lost = decision.of("ap-south")
    assert (lost.chosen, lost.keep, lost.reasons[-1]) == (False, True, "it is offline: no answer")
    assert sorted(verdict.replicas for verdict in decision.verdicts if verdict.chosen) == [4, 5]


def test_an_unselected_cluster_is_told_which_requirement_it_misses():
    selector = ClusterSelector.parse([{"key": "region", "operator": "in", "values": ["us", "ap"]}])

    decision = decide(FLEET, selector, replicas=4, key="shop/web")

    assert decision.chosen() == ["ap-south", "us-east"]
    assert decision.of("eu-west").reasons == ("the cluster selector asks for region in (us, ap), and its region is eu",)


def test_preferences_are_named_in_the_reason():
    preferences = Preferences({"us-east": Preference(2), "*": Preference(1, max_replicas=1)}, rebalance=True)

    decision = decide(FLEET, ClusterSelector(), replicas=9, preferences=preferences, key="shop/web")

    assert decision.of("us-east").replicas == 7
    assert decision.of("eu-west").reasons[-1] == "of 9 replicas the preferences (weight 1, at most 1) give it 1"


def test_the_order_of_the_clusters_does_not_matter():
    assert decide(FLEET, ClusterSelector(), replicas=7, key="x") == decide(
        FLEET[::-1], ClusterSelector(), replicas=7, key="x"
    )


def test_a_kind_without_replicas_goes_everywhere():
    decision = decide(FLEET, ClusterSelector())

    assert [(verdict.cluster, verdict.replicas) for verdict in decision.verdicts] == [
        ("ap-south", None),
        ("eu-west", None),
        ("us-east", None),
    ]
