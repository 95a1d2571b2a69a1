"""Which clusters a release goes to: lines 39 to 48 of the sheet, and who is passed over."""

import pytest

from hanse.api.clusters import Cluster, Taint
from hanse.rollouts.environment import Environment, Region
from hanse.rollouts.releases.choosing import Unscheduled, choose, preference, region_of

NAMES = [f"cluster-{letter}" for letter in "abcdefgh"]


def cluster(name, **changes):
    return Cluster(name, **({"labels": {"topology.kubernetes.io/region": "eu"}, "ready": True} | changes))


def asks(*regions, capabilities=()):
    return Environment(raw={}, regions=tuple(Region(*each) for each in regions), capabilities=capabilities)


FLEET = [cluster(name) for name in NAMES]
ONE = asks(("eu",))


def chosen(application="app", environment=ONE, clusters=FLEET, refused=None):
    return choose(application, environment, clusters, refused)


def test_39_every_release_of_an_application_gets_the_same_cluster_in_whatever_order_they_come():
    found = chosen()

    assert len(found) == 1
    assert chosen(clusters=FLEET[::-1]) == found == chosen(clusters=[each for each in FLEET if each.name in found])


def test_applications_spread_over_the_clusters():
    used = {name for number in range(60) for name in chosen(f"app-{number}")}

    assert used == set(NAMES)


def test_a_cluster_that_comes_moves_only_the_applications_that_prefer_it():
    before = {number: chosen(f"app-{number}") for number in range(60)}
    after = {number: chosen(f"app-{number}", clusters=[*FLEET, cluster("new")]) for number in range(60)}
    moved = {after[number] for number in before if before[number] != after[number]}

    assert moved == {("new",)}


def test_40_all_of_them_are_sorted_by_name():
    assert chosen(environment=asks(("eu", 8)), clusters=FLEET[::-1]) == tuple(NAMES)


def test_each_region_gives_its_own_and_one_that_comes_twice_counts_as_said_last():
    fleet = [*FLEET, cluster("us-1", labels={}, region="us")]

    assert chosen(environment=asks(("us",), ("eu", 8)), clusters=fleet) == (*NAMES, "us-1")
    assert len(chosen(environment=asks(("eu", 8), ("eu", 2)), clusters=fleet)) == 2


def test_what_a_label_says_of_the_region_counts_before_what_the_nodes_say():
    labels = {"topology.kubernetes.io/region": "eu"}

    assert region_of(cluster("a", labels=labels, region="us")) == "eu"
    assert region_of(cluster("a", labels={}, region="us")) == "us"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"unschedulable": True}, "is unschedulable"),
        ({"leaving": True}, "is leaving"),
        ({"pull": True}, "fetches its work, where traffic cannot be led by labels of pods"),
        ({"taints": (Taint("a"),)}, "is tainted"),
        ({"ready": False}, "was never reached"),
    ],
)
def test_41_clusters_that_are_not_to_be_had_are_passed_over_and_named(changes, why):
    found = chosen(clusters=[cluster("a", **changes)])

    assert found == Unscheduled(
        "NotEnoughClustersInRegion",
        f'Not enough clusters in region "eu". Required: 1 / Available: 0 (1 not counted: a {why})',
    )
    assert chosen(clusters=[cluster("a", **changes), cluster("b")]) == ("b",)


def test_a_cluster_that_is_ill_or_away_for_now_is_chosen_as_ever():
    best = chosen()[0]
    fleet = [cluster(name, ready=name != best, offline=name == best, version="v1.34.0") for name in NAMES]

    assert chosen(clusters=fleet) == (best,)


def test_clusters_that_the_author_may_not_use_are_passed_over():
    best = chosen()[0]

    assert chosen(refused={best: "no"}) != (best,)
    sentence = chosen(clusters=FLEET[:2], refused=dict.fromkeys(NAMES, "no")).message
    assert sentence.endswith("(2 not counted: cluster-a, cluster-b may not be used by the author)")


def test_11_no_cluster_in_the_region():
    assert chosen(environment=asks(("local",))) == Unscheduled(
        "NotEnoughClustersInRegion", 'Not enough clusters in region "local". Required: 1 / Available: 0'
    )


def test_42_clusters_without_a_capability_do_not_count():
    gpu = asks(("eu", 2), capabilities=("gpu", "ssd"))
    fleet = [*FLEET, cluster("z", capabilities=frozenset({"gpu", "ssd", "arm"}))]

    assert chosen(environment=asks(("eu",), capabilities=("gpu",)), clusters=fleet) == ("z",)
    assert chosen(environment=gpu, clusters=fleet) == Unscheduled(
        "NotEnoughCapableClustersInRegion",
        'Not enough clusters in region "eu" with the capabilities gpu, ssd. Required: 2 / Available: 1',
    )


def test_43_a_capability_twice():
    found = chosen(environment=asks(("eu",), capabilities=("gpu", "ssd", "gpu")))

    assert found.reason == "DuplicateCapabilityRequirement"
    assert "gpu more than once" in found.message


def test_44_no_regions():
    assert chosen(environment=asks()).reason == "NoRegionsSpecified"


def test_regions_that_ask_for_no_cluster_are_no_regions():
    found = chosen(environment=asks(("eu", 0)))
    assert (found.reason, "replicas of at least 1" in found.message) == ("NoRegionsSpecified", True)


def test_45_a_little_more_weight_changes_nothing_and_much_more_may():
    order = [each.name for each in preference("app", FLEET)]

    def first(weight):
        fleet = [cluster(name, rollout_weight=weight if name == order[1] else 100) for name in NAMES]
        return chosen(clusters=fleet)[0]

    assert (first(101), first(900)) == (order[0], order[1])


def test_46_the_identity_of_another_with_more_weight_takes_its_place():
    best = chosen()[0]
    stranger = cluster("stranger", rollout_identity=best, rollout_weight=101)

    assert chosen(clusters=[*FLEET, stranger]) == ("stranger",)
    assert chosen(clusters=[*FLEET, cluster("stranger", rollout_identity=best, rollout_weight=99)]) == (best,)


def test_weight_0_is_last_of_all():
    best = chosen()[0]
    fleet = [cluster(name, rollout_weight=0 if name == best else 1) for name in NAMES]

    assert preference("app", fleet)[-1].name == best
    assert chosen(environment=asks(("eu", 8)), clusters=fleet) == tuple(NAMES)
