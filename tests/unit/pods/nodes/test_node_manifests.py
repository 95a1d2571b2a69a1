"""What virtual nodes look like."""

import re

import pytest

from hanse.api.admiralty.names import TargetName
from hanse.api.admiralty.nodes import is_virtual
from hanse.api.clusters import Cluster
from hanse.kube.conditions import find_condition
from hanse.pods.nodes.manifests import Kubelet, Shown, applied_labels, node_of, node_status
from hanse.pods.nodes.sums import any_has_several_sizes, shown_of

NOW, LATER = "2026-11-16T00:00:00Z", "2026-11-16T01:00:00Z"
READY = Cluster("eu", ready=True, version="v1.36.3+hanse", capacity={"cpu": "12"})
SUMMARY = {
    "metadata": {"name": "singleton", "labels": {"zone": "a", "disk": "ssd"}},
    "capacity": {"cpu": "12", "memory": "24Gi", "pods": 330},
    "allocatable": {"cpu": "11500m", "memory": "20Gi", "pods": "330"},
}
NOTHING = Shown()
SIZES = {"hugepages-2Mi": "4Gi", "hugepages-1Gi": "8Gi", "cpu": "4"}


def made(target, cluster=READY, shown=NOTHING, kubelet=None):
    return node_of(target, cluster, shown, kubelet, now=NOW)


def ready(node):
    return find_condition(node["status"]["conditions"], "Ready")


@pytest.mark.parametrize(
    ("target", "name", "labels"),
    [
        (
            TargetName("default", "c2"),
            "admiralty-default-c2",
            {"multicluster.admiralty.io/target-namespace": "default", "multicluster.admiralty.io/target-name": "c2"},
        ),
        (TargetName("", "eu"), "admiralty-eu", {"multicluster.admiralty.io/cluster-target-name": "eu"}),
    ],
    ids=["a Target", "a ClusterTarget"],
)
def test_a_node_says_which_target_it_stands_for(target, name, labels):
    node = made(target)

    assert node["metadata"]["name"] == name
    assert labels.items() <= node["metadata"]["labels"].items()
    assert len([key for key in node["metadata"]["labels"] if key.startswith("multicluster.")]) == len(labels)


def test_a_node_has_the_labels_and_the_taint_that_admiraltys_users_know():
    node = made(TargetName("", "eu"))

    assert node["spec"]["taints"] == [
        {"key": "virtual-kubelet.io/provider", "value": "admiralty", "effect": "NoSchedule"}
    ]
    assert {
        "type": "virtual-kubelet",
        "virtual-kubelet.io/provider": "admiralty",
        "kubernetes.io/role": "cluster",
        "alpha.service-controller.kubernetes.io/exclude-balancer": "true",
        "node.kubernetes.io/exclude-from-external-load-balancers": "true",
    }.items() <= node["metadata"]["labels"].items()
    assert is_virtual(node)


def test_labels_that_a_targets_nodes_share_are_shown_and_none_hides_what_the_node_is():
    shown = shown_of({"metadata": {"labels": {"zone": "a", "type": "metal"}}}, READY, "", local_sizes=False)

    labels = applied_labels(TargetName("", "eu"), shown)["metadata"]["labels"]

    assert (labels["zone"], labels["type"]) == ("a", "virtual-kubelet")
    assert labels.keys() - made(TargetName("", "eu"), shown=shown)["metadata"]["labels"].keys() == {"zone"}


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("", {"zone", "disk"}),
        ("^zone=", {"disk"}),
        ("=a$", {"disk"}),
        ("s", {"zone"}),
        ("^(zone|disk)=", set()),
        ("^", set()),
    ],
    ids=["none", "by key", "by value", "anywhere", "both", "a match of nothing"],
)
def test_excluded_labels_are_not_shown(pattern, kept):
    assert shown_of(SUMMARY, READY, pattern, local_sizes=False).labels.keys() == kept


def test_an_amount_that_is_nonsense_does_not_hide_the_rest():
    summary = {"metadata": {}, "capacity": {"cpu": "much", "memory": "1024Mi"}}

    assert shown_of(summary, READY, "", local_sizes=False).capacity == {"memory": "1Gi"}


def test_the_room_is_the_targets_summary_or_what_is_known_of_its_cluster():
    of_summary = shown_of(SUMMARY, READY, "", local_sizes=False)
    without = shown_of(None, READY, "", local_sizes=False)

    assert of_summary.capacity == {"cpu": "12", "memory": "24Gi", "pods": "330"}
    assert of_summary.allocatable["cpu"] == "11500m"
    assert (without.capacity, without.allocatable) == ({"cpu": "12"}, {"cpu": "12"})


@pytest.mark.parametrize(
    ("capacity", "local", "kept"),
    [
        (SIZES, False, {"cpu"}),
        (SIZES, True, set(SIZES)),
        ({**SIZES, "hugepages-1Gi": "0"}, False, set(SIZES)),
    ],
    ids=["several there, none here", "several on both sides", "one size and one of nothing"],
)
def test_huge_pages_of_several_sizes_are_shown_where_a_machine_here_has_them_too(capacity, local, kept):
    shown = shown_of({"metadata": {}, "capacity": capacity, "allocatable": capacity}, READY, "", local_sizes=local)

    assert shown.capacity.keys() == shown.allocatable.keys() == kept


def test_virtual_nodes_do_not_count_among_the_machines_that_have_several_sizes():
    machine, virtual = {"metadata": {}, "status": {"capacity": SIZES}}, made(TargetName("", "eu"))
    virtual["status"]["capacity"] = SIZES

    assert (any_has_several_sizes([virtual]), any_has_several_sizes([virtual, machine])) == (False, True)


@pytest.mark.parametrize(
    ("cluster", "status", "reason"),
    [
        (READY, "True", "ClusterReady"),
        (Cluster("eu", ready=False, why="/readyz says no"), "False", "ClusterNotReady"),
        (Cluster("eu", ready=True, offline=True, why="connection refused"), "False", "ClusterOffline"),
        (Cluster("eu"), "False", "ClusterUnknown"),
    ],
    ids=["ready", "not ready", "offline", "never asked"],
)
def test_a_node_is_as_ready_as_the_cluster_behind_it(cluster, status, reason):
    told = ready(made(TargetName("", "eu"), cluster))

    assert (told["status"], told["reason"]) == (status, reason)
    assert cluster.why in told["message"]


def test_what_was_told_of_a_cluster_stays_until_somebody_has_asked_it_again():
    before = made(TargetName("", "eu"))["status"]

    assert node_status(Cluster("eu"), Shown(), None, before, LATER)["conditions"] == before["conditions"]


def test_a_status_that_is_right_changes_nothing_and_others_conditions_stay():
    shown = shown_of(SUMMARY, READY, "", local_sizes=False)
    first = node_status(READY, shown, Kubelet("10.0.0.7", 10250), {}, NOW)
    first["conditions"].append({"type": "NetworkUnavailable", "status": "False"})
    first["conditions"][-1]["lastHeartbeatTime"] = NOW

    assert node_status(READY, shown, Kubelet("10.0.0.7", 10250), first, LATER) == first


@pytest.mark.parametrize(
    ("kubelet", "addresses"),
    [
        (Kubelet("10.0.0.7", 10250), [{"type": "InternalIP", "address": "10.0.0.7"}]),
        (Kubelet("hanse.example", 443), [{"type": "InternalDNS", "address": "hanse.example"}]),
        (None, None),
    ],
    ids=["by address", "by name", "nobody answers"],
)
def test_a_node_says_where_its_kubelet_answers(kubelet, addresses):
    status = made(TargetName("", "eu"), kubelet=kubelet)["status"]

    assert status.get("addresses") == addresses
    assert status.get("daemonEndpoints") == ({"kubeletEndpoint": {"Port": kubelet.port}} if kubelet else None)


def test_a_node_tells_the_version_of_its_cluster_and_ours():
    assert re.fullmatch(r"v1\.36\.3\+hanse\.\d.*", made(TargetName("", "eu"))["status"]["nodeInfo"]["kubeletVersion"])
