"""Targets as placement sees them, and their status."""

import pytest

from hanse.api.clusters import Taint
from hanse.clusters.health import Health
from hanse.kube.conditions import find_condition
from hanse.pods.targets.standing import Standing, cluster_of, conditions_of, has_joined, standing_of
from tests.unit.pods.targets.cases import cluster, private, registered

READY = Standing(True, "ClusterReady", "it answers")
SINCE = "2026-01-01T00:00:00Z"
EU = cluster(
    "eu", labels={"region": "eu", "tier": "gold"}, capacity={"cpu": "8"}, free={"cpu": "3"}, taints=(Taint("own"),)
)


def node(*taints, unschedulable=False, **labels):
    return {
        "metadata": {"name": "admiralty-t", "labels": labels},
        "spec": {"unschedulable": unschedulable, "taints": [{"effect": "NoSchedule", **taint} for taint in taints]},
    }


def value(which=None, standing=READY, behind=EU, summary=None, node=None):
    return cluster_of(which or registered("t", "eu"), standing, SINCE, behind=behind, summary=summary, node=node)


def test_a_registered_cluster_is_seen_under_the_targets_name():
    seen = value()

    assert (seen.name, seen.ready, seen.offline, seen.refused_since) == ("t", True, False, SINCE)
    assert (seen.capacity, seen.free) == ({"cpu": "8"}, {"cpu": "3"})
    assert seen.labels["region"] == "eu"


def test_labels_of_the_virtual_node_come_on_top_and_what_it_is_cannot_be_hidden():
    seen = value(node=node(tier="silver", price="7", **{"virtual-kubelet.io/provider": "else"}))

    assert (seen.labels["tier"], seen.labels["price"], seen.labels["region"]) == ("silver", "7", "eu")
    assert seen.labels["virtual-kubelet.io/provider"] == "admiralty"
    assert seen.labels["multicluster.admiralty.io/cluster-target-name"] == "t"


def test_a_namespaced_target_bears_the_labels_of_both_its_names():
    labels = value(registered("x/t", "eu")).labels

    assert labels["multicluster.admiralty.io/target-namespace"] == "x"
    assert labels["multicluster.admiralty.io/target-name"] == "t"


def test_a_cordoned_node_takes_nothing_more():
    assert value(node=node(unschedulable=True)).unschedulable
    assert not value(node=node()).unschedulable
    assert value(registered("t", "eu", leaving=True)).unschedulable


@pytest.mark.parametrize(
    ("key", "counts"),
    [
        ("maintenance", True),
        ("virtual-kubelet.io/provider", False),
        ("node.kubernetes.io/unreachable", False),
        ("node.kubernetes.io/network-unavailable", False),
        ("node.cloudprovider.kubernetes.io/shutdown", False),
    ],
)
def test_taints_of_people_count_and_those_of_every_virtual_node_do_not(key, counts):
    taints = value(node=node({"key": key, "value": "v"})).taints

    assert taints == ((Taint("own"), Taint(key, "v")) if counts else (Taint("own"),))


def test_of_a_target_that_makes_nodes_nobody_counts_the_room():
    seen = value(registered("t", "eu", autoscales=True))

    assert (seen.capacity, seen.free) == ({}, {})


def test_a_private_target_tells_its_labels_and_room_by_its_summary():
    summary = {"metadata": {"name": "singleton", "labels": {"zone": "z"}}, "allocatable": {"cpu": 12, "memory": "4Gi"}}

    seen = value(private("p"), behind=None, summary=summary)
    silent = value(private("p"), behind=None)

    assert (seen.labels["zone"], seen.capacity) == ("z", {"cpu": "12", "memory": "4Gi"})
    assert silent.ready
    assert silent.capacity == {}


def test_a_target_that_cannot_be_used_says_why():
    seen = value(standing=Standing(False, "CredentialsUnusable", "no secret"), behind=None)

    assert (seen.ready, seen.offline, seen.refusal) == (False, False, "it is not ready: no secret")


def test_the_status_says_whether_it_is_ready_and_whether_it_ever_was():
    conditions = conditions_of(registered("t", "eu", warning="59: a bad pattern"), READY, joined=True)
    pending = conditions_of(registered("t", "eu"), standing_of(Health()), joined=False)

    assert has_joined(conditions)
    assert not has_joined(pending)
    assert find_condition(conditions, "Ready")["message"] == "it answers; 59: a bad pattern"
    assert [find_condition(pending, kind)["status"] for kind in ("Joined", "Ready", "Offline")] == [
        "False",
        "Unknown",
        "Unknown",
    ]
