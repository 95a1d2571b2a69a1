"""Where pods fit, and what is said where they do not."""

import pytest

from hanse.simulator.nodes.fitting import Candidate, Room, Wish, choose_node, refusals, unschedulable_message
from hanse.simulator.pods import requests_of

GIB = 2**30


def node(
    name="n1", *, cpu=4000, memory=8 * GIB, pods=10, taken=None, taints=(), cordoned=False, labels=None, siblings=0
):
    return Candidate(name, labels or {}, tuple(taints), cordoned, Room(cpu, memory, pods), taken or Room(), siblings)


def wish(cpu=0, memory=0, selector=None, tolerations=()):
    return Wish(Room(cpu, memory, 1), selector or {}, tuple(tolerations))


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("asked", "offered", "wanted"),
    [
        (wish(), node(), []),
        (wish(cpu=4000), node(), []),
        (wish(cpu=4001), node(), ["Insufficient cpu"]),
        (wish(cpu=5000, memory=9 * GIB), node(), ["Insufficient cpu", "Insufficient memory"]),
        (wish(cpu=1000), node(taken=Room(3500, 0, 1)), ["Insufficient cpu"]),
        (wish(), node(taken=Room(9999, 0, 1)), []),
        (wish(), node(pods=1, taken=Room(0, 0, 1)), ["Too many pods"]),
        (wish(selector={"disk": "ssd"}), node(labels={"disk": "ssd"}), []),
        (wish(selector={"disk": "ssd"}), node(), ["node(s) didn't match Pod's node affinity/selector"]),
        (wish(), node(cordoned=True), ["node(s) were unschedulable"]),
        (wish(tolerations=[{"operator": "Exists"}]), node(cordoned=True), []),
        (wish(), node(taints=[TAINT]), ["node(s) had untolerated taint(s)"]),
        (wish(), node(taints=[{**TAINT, "effect": "PreferNoSchedule"}]), []),
        (wish(tolerations=[{"key": "gpu", "value": "yes"}]), node(taints=[TAINT]), []),
        (wish(tolerations=[{"key": "gpu", "value": "no"}]), node(taints=[TAINT]), ["node(s) had untolerated taint(s)"]),
        (wish(tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]), node(taints=[TAINT]), []),
    ],
)
def test_a_node_refuses_for_the_reasons_that_kube_scheduler_gives(asked, offered, wanted):
    assert refusals(asked, offered) == wanted


def test_the_node_with_the_fewest_siblings_is_chosen_then_the_emptiest_then_by_name():
    crowded = node("a", siblings=2)
    full = node("b", taken=Room(3000, 0, 3))
    empty, also_empty = node("d"), node("c")
    assert choose_node(wish(cpu=100), [crowded, full, empty, also_empty]) == also_empty
    assert choose_node(wish(cpu=100), [crowded, full]) == full
    assert choose_node(wish(cpu=5000), [crowded, full]) is None


def test_the_message_has_the_form_of_kube_scheduler():
    nodes = [node("a"), node("b"), node("c", taints=[TAINT])]
    assert unschedulable_message(wish(cpu=5000), nodes) == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. preemption: 0/3 nodes are "
        "available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
    )


def test_a_cluster_without_nodes_says_so():
    assert unschedulable_message(wish(), []) == "no nodes available to schedule pods"


def test_a_pod_asks_for_what_its_containers_ask_or_the_largest_init_container():
    spec = {
        "containers": [
            {"resources": {"requests": {"cpu": "250m", "memory": "64Mi"}}},
            {"resources": {"limits": {"cpu": "1"}}},
            {},
        ],
        "initContainers": [{"resources": {"requests": {"memory": "1Gi"}}}],
    }
    assert requests_of(spec) == (1250, GIB)
