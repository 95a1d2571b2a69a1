"""Which node a pod gets, who makes way for it, and in which order pods are placed."""

import pytest

from hanse.kube.manifest import Key
from hanse.simulator.scheduling.amounts import pod_requests
from hanse.simulator.scheduling.board import Board, NodeOffer, PlacedPod
from hanse.simulator.scheduling.decision import Chosen, decide
from hanse.simulator.scheduling.volume_filters import Storage
from hanse.simulator.scheduling.waiting import Waiting
from hanse.simulator.scheduling.wishes import Wish, tolerates
from tests.unit.simulator.scheduling_cases import (
    GPU,
    HOSTNAME,
    ZONE,
    claim,
    claiming,
    expression,
    near,
    node,
    nodes,
    on,
    pod,
    required_nodes,
    spread,
    storage_class,
    volume,
)

WEB = {"app": "web"}
ZONES = [node("n1", zone="a"), node("n2", zone="a"), node("n3", zone="b")]


def placed(*pods):
    return [PlacedPod.of(entry, entry["spec"]["nodeName"]) for entry in pods]


def answer(wanting, offered, *pods, storage=None):
    return decide(Wish.of(wanting), Board(map(NodeOffer.of, offered), placed(*pods)), storage or Storage())


def of_priority(value, entry):
    return {**entry, "spec": {**entry["spec"], "priority": value}}


def preferring(kind, value, weight=50):
    if kind == "nodeAffinity":
        entry = {"weight": weight, "preference": {"matchExpressions": [expression(ZONE, "In", value)]}}
    else:
        [term] = near(kind, value, ZONE)[kind]["requiredDuringSchedulingIgnoredDuringExecution"]
        entry = {"weight": weight, "podAffinityTerm": term}
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [entry]}}


def softly(constraints):
    return [{**entry, "whenUnsatisfiable": "ScheduleAnyway"} for entry in constraints]


@pytest.mark.parametrize(
    ("wanting", "offered", "there", "chosen"),
    [
        (pod(asks={"cpu": "4"}), nodes(2), [on("n1", asks={"cpu": "1m"})], "n2"),
        (pod(asks={"cpu": "1"}), nodes(3), [on("n1", asks={"cpu": "2"})], "n2"),
        (pod(), nodes(2), [], "n1"),
        (pod(tolerations=[{"operator": "Exists"}]), nodes(1, unschedulable=True), [], "n1"),
        (pod(tolerations=[{"key": "gpu", "value": "yes"}]), nodes(1, taints=[GPU]), [], "n1"),
        (pod(), [node("n1", taints=[{**GPU, "effect": "PreferNoSchedule"}]), node("n2")], [], "n2"),
        (pod(nodeSelector={ZONE: "b"}), ZONES, [], "n3"),
        (pod(affinity=required_nodes({"matchExpressions": [expression(ZONE, "NotIn", "a")]})), ZONES, [], "n3"),
        (pod(affinity=required_nodes({"matchFields": [expression("metadata.name", "In", "n2")]})), ZONES, [], "n2"),
        (pod(affinity=preferring("nodeAffinity", "b")), ZONES, [], "n3"),
        (pod(affinity=near("podAffinity", "web", ZONE)), ZONES, [on("n3", labels=WEB)], "n3"),
        (pod(labels=WEB, affinity=near("podAffinity", "web", ZONE)), ZONES, [], "n1"),
        (pod(affinity=near("podAntiAffinity", "web", ZONE)), ZONES, [on("n1", labels=WEB)], "n3"),
        (pod(labels=WEB), ZONES, [on("n1", affinity=near("podAntiAffinity", "web", ZONE))], "n3"),
        (pod(affinity=preferring("podAffinity", "web")), ZONES, [on("n3", labels=WEB)], "n3"),
        (pod(affinity=preferring("podAntiAffinity", "web")), ZONES, [on("n1", labels=WEB)], "n3"),
        (pod(labels=WEB, topologySpreadConstraints=spread()), ZONES, [on("n2", labels=WEB)], "n3"),
        (pod(labels=WEB, topologySpreadConstraints=softly(spread())), ZONES, [on("n2", labels=WEB)], "n3"),
        (pod(hostPorts=[80]), nodes(2), [on("n1", hostPorts=[80])], "n2"),
        (pod(hostPorts=[80]), nodes(1), [on("n1", hostPorts=[81])], "n1"),
    ],
)
def test_the_best_node_that_can_take_a_pod_is_chosen(wanting, offered, there, chosen):
    assert answer(wanting, offered, *there) == Chosen(chosen)


def test_siblings_are_kept_apart_before_nodes_are_filled_evenly():
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}]
    sibling, wanting = on("n1"), pod()
    for entry in (sibling, wanting):
        entry["metadata"]["ownerReferences"] = owner
    assert answer(wanting, nodes(2), sibling, on("n2", "large", asks={"cpu": "3"})) == Chosen("n2")


def test_a_namespace_selector_reaches_into_other_namespaces():
    wanting = pod(affinity=near("podAffinity", "db", namespaceSelector={"matchLabels": {"team": "data"}}))
    neighbour = on("n2", labels={"app": "db"})
    neighbour["metadata"]["namespace"] = "elsewhere"
    board = Board(map(NodeOffer.of, nodes(2)), placed(neighbour))
    assert not isinstance(decide(Wish.of(wanting), board, Storage()), Chosen)
    board.namespaces = {"elsewhere": {"team": "data"}}
    assert decide(Wish.of(wanting), board, Storage()) == Chosen("n2")


def test_a_claim_that_waits_leads_to_the_node_where_a_volume_is():
    late = storage_class("late", "WaitForFirstConsumer")
    local = volume("pv", "late", on={"matchExpressions": [expression(HOSTNAME, "In", "n2")]})
    found = {"claim": claim("data", "late"), "class": late}
    storage = Storage(lambda _: found["claim"], lambda _: None, lambda _: found["class"], lambda: iter([local]))
    assert answer(pod(**claiming("data")), nodes(3), storage=storage) == Chosen("n2")


def test_the_least_important_pods_make_way_and_no_more_than_must():
    there = [
        of_priority(5, on("n1", "small", asks={"cpu": "1"})),
        of_priority(3, on("n1", "humble", asks={"cpu": "2"})),
        of_priority(900, on("n2", "proud", asks={"cpu": "3"})),
    ]
    refused = answer(of_priority(1000, pod(asks={"cpu": "3"})), nodes(2), *there)
    assert refused.message == "0/2 nodes are available: 2 Insufficient cpu."
    assert (refused.nominated, [victim.key.name for victim in refused.victims]) == ("n1", ["humble"])


def test_nobody_else_is_pushed_out_while_a_victim_is_still_leaving():
    leaving = on("n1", asks={"cpu": "3"})
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    wanting = {**of_priority(1000, pod(asks={"cpu": "3"})), "status": {"nominatedNodeName": "n1"}}
    refused = answer(wanting, nodes(2), leaving, on("n2", "other", asks={"cpu": "3"}))
    assert refused.message.endswith("preemption: not eligible due to a terminating pod on the nominated node.")
    assert (refused.nominated, refused.victims) == ("n1", ())


def test_a_pod_asks_for_what_its_containers_and_sidecars_ask_or_for_the_most_while_it_starts():
    spec = {
        "containers": [
            {"resources": {"requests": {"cpu": "250m", "memory": "64Mi"}}},
            {"resources": {"limits": {"cpu": "1"}}},
            {},
        ],
        "initContainers": [
            {"resources": {"requests": {"memory": "1Gi"}}},
            {"restartPolicy": "Always", "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}}},
            {"resources": {"requests": {"cpu": "1"}}},
        ],
        "overhead": {"cpu": "10m"},
    }
    assert pod_requests(spec) == {"cpu": 1760, "memory": 2**30}
    assert pod_requests({**spec, "resources": {"requests": {"cpu": "4"}}})["cpu"] == 4010


@pytest.mark.parametrize(
    ("toleration", "holds"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "cpu", "value": "yes"}, False),
    ],
)
def test_a_toleration_is_for_a_key_a_value_and_an_effect(toleration, holds):
    assert tolerates(toleration, GPU) is holds


def test_the_most_important_pod_is_first_then_the_oldest():
    waiting = Waiting()
    waiting.add(Key("a", "young"), priority=0, created=2.0)
    waiting.add(Key("a", "old"), priority=0, created=1.0)
    waiting.add(Key("a", "urgent"), priority=9, created=3.0)
    waiting.add(Key("a", "gone"), priority=99, created=0.0)
    waiting.add(Key("a", "young"), priority=0, created=2.0)
    waiting.discard(Key("a", "gone"))
    assert [waiting.pop() for _ in range(4)] == [Key("a", "urgent"), Key("a", "old"), Key("a", "young"), None]
    assert not waiting
