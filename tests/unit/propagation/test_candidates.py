"""What the registry says of a cluster reaches placement, and the index follows it."""

from dataclasses import replace

from hanse.api.clusters import Cluster, Taint
from hanse.placement import Candidate
from hanse.placement import Taint as PlacementTaint
from hanse.propagation.candidates import ClusterIndex, candidate_of, seconds_of

CLUSTER = Cluster(
    "eu",
    {"topology.kubernetes.io/zone": "eu-a", "hanse.dev/provider": "gcp"},
    ready=True,
    region="eu",
    unschedulable=True,
    taints=(Taint("gpu", "yes", "NoExecute", "1970-01-01T00:01:00Z"),),
    capacity={"cpu": "4", "memory": "1Ki"},
    free={"cpu": "1500m", "odd": "many"},
)


def test_a_cluster_is_seen_with_all_that_placement_looks_at():
    assert candidate_of(CLUSTER) == Candidate(
        "eu",
        CLUSTER.labels,
        cordoned=True,
        taints=(PlacementTaint("gpu", "yes", "NoExecute", 60.0),),
        provider="gcp",
        region="eu",
        zones=("eu-a",),
        capacity={"cpu": 4000, "memory": 1024_000},
        free={"cpu": 1500, "odd": 0},
    )


def test_a_cluster_that_tells_nothing_has_no_capacity_rather_than_none():
    assert (candidate_of(Cluster("a", ready=True)).capacity, candidate_of(Cluster("a")).refusal) == (
        None,
        "it is not ready",
    )


def test_a_cluster_that_leaves_takes_nothing_new():
    assert candidate_of(Cluster("a", leaving=True)).cordoned


def test_the_index_follows_the_registry_and_is_kept_while_nothing_changes():
    index, clusters = ClusterIndex(), [Cluster("a", ready=True), Cluster("b", ready=True)]

    first = index.of(clusters)
    assert index.of(clusters) is first
    changed = index.of([clusters[0], replace(clusters[1], ready=False, offline=True)])
    assert changed is first
    assert changed.refused == 0b10
    assert index.of([clusters[0]]).names == ["a"]


def test_times_that_are_none_are_none():
    assert (seconds_of(""), seconds_of("yesterday"), seconds_of("1970-01-01T00:00:05Z")) == (None, None, 5.0)
