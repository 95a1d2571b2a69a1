"""Nodes that stand for other clusters: what they show is counted there and nowhere else."""

import pytest

from hanse.api.admiralty.nodes import is_virtual
from hanse.cli.embedded.overview import NodeRow
from hanse.cli.embedded.view import node_rows
from hanse.clusters.topology import read_topology

READY = [{"type": "Ready", "status": "True"}]


def node(name, **labels):
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": labels}, "status": {"conditions": READY, "allocatable": allocatable}}


VIRTUAL = node(
    "admiralty-eu",
    **{"virtual-kubelet.io/provider": "admiralty", "type": "virtual-kubelet", "topology.kubernetes.io/zone": "far"},
)


@pytest.mark.parametrize(
    ("seen", "virtual"),
    [
        (VIRTUAL, True),
        (node("n"), False),
        (node("aci", **{"type": "virtual-kubelet", "virtual-kubelet.io/provider": "azure"}), False),
        ({"metadata": {"name": "bare"}}, False),
    ],
    ids=["ours", "a machine", "another virtual kubelet", "without labels"],
)
def test_a_virtual_node_is_known_by_its_provider(seen, virtual):
    assert is_virtual(seen) is virtual


def test_a_cluster_has_neither_the_room_nor_the_zones_of_its_virtual_nodes():
    topology = read_topology([node("n"), VIRTUAL])

    assert (topology.nodes, dict(topology.capacity)["cpu"], topology.zones) == (1, "4", ())


def test_the_overview_shows_machines_and_the_pods_that_run_on_them():
    pods = [{"spec": {"nodeName": "n"}}, {"spec": {"nodeName": "admiralty-eu"}}]

    assert node_rows([node("n"), VIRTUAL], pods) == (NodeRow("n", True, 0, 1),)
