"""What a member has and what is left of it, and that small changes are not worth a write."""

import json
from decimal import Decimal

import pytest

from hanse.clusters.health import Health, State, Symptom
from hanse.clusters.status import Facts, cluster_status, health_from_status
from hanse.clusters.topology import Demand, Topology, free_capacity, read_demand, read_topology

ROOM = Topology(schedulable=(("cpu", "100"), ("pods", "110")))


def node(name, zone="", *, ready=True, cordoned=False):
    labels = {"topology.kubernetes.io/region": "r"} | ({"topology.kubernetes.io/zone": zone} if zone else {})
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": cordoned},
        "status": {
            "conditions": [{"type": "Ready", "status": str(ready)}],
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        },
    }


def pod(*requests, steps=(), beside=(), overhead=None):
    def container(cpu, **fields):
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **fields}

    first = [container(each) for each in steps] + [container(each, restartPolicy="Always") for each in beside]
    spec = {"containers": [container(each) for each in requests], "initContainers": first}
    return json.dumps({"spec": spec | ({"overhead": {"cpu": overhead}} if overhead else {})}).encode()


def test_zones_are_sorted_and_named_once():
    topology = read_topology([node("1", "b"), node("2", "a"), node("3", "b")])

    assert (topology.region, topology.zones, topology.nodes) == ("r", ("a", "b"), 3)


def test_only_ready_nodes_count_and_only_open_ones_take_pods():
    topology = read_topology([node("1"), node("2", ready=False), node("3", cordoned=True)])

    assert dict(topology.capacity)["cpu"] == "8"
    assert (dict(topology.schedulable)["cpu"], topology.nodes) == ("4", 2)


@pytest.mark.parametrize(
    ("asks", "cpu"),
    [
        (pod("1", "500m"), "1.5"),
        (pod("1", steps=("3",)), "3"),
        (pod("1", beside=("1",), steps=("500m",)), "2"),
        (pod("1", overhead="250m"), "1.25"),
        (b'{"spec": {"containers": [{"name": "c"}]}}', "0"),
        (b'{"spec": {"containers": [{"resources": {"requests": {"cpu": "much"}}}]}}', "0"),
    ],
    ids=["containers add up", "the largest step", "sidecars stay", "overhead", "nothing asked", "nonsense"],
)
def test_a_pod_holds_what_it_asks_for(asks, cpu):
    demand = read_demand([asks])

    assert (str(demand.amounts["cpu"].normalize()), demand.amounts["pods"]) == (cpu, 1)


@pytest.mark.parametrize(
    ("used", "told", "free"),
    [
        ("40", {}, "60"),
        ("44", {"cpu": "60"}, "60"),
        ("50", {"cpu": "60"}, "50"),
        ("100", {"cpu": "2"}, "0"),
        ("99", {"cpu": "0"}, "1"),
        ("120", {}, "0"),
    ],
    ids=["at first", "a little", "enough", "full is news", "so is room again", "never below nothing"],
)
def test_what_is_left_is_told_anew_when_it_matters(used, told, free):
    assert free_capacity(ROOM, Demand({"cpu": Decimal(used)}), told)["cpu"] == free


def test_a_status_that_says_the_same_is_the_same():
    health = Health(State.READY, "fine", symptom=Symptom.READY)
    facts = Facts(topology=read_topology([node("1", "a")]), demand=Demand(), version="v1", uid="u", denied="")
    once = cluster_status({}, health, facts, "2030-01-01T00:00:00Z")

    assert cluster_status(once, health, facts, "2031-01-01T00:00:00Z") == once
    assert cluster_status(once, health, Facts(), "2031-01-01T00:00:00Z") == once


def conditions(status):
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


@pytest.mark.parametrize(
    ("health", "facts", "expected"),
    [
        (
            Health(State.OFFLINE, "x", symptom=Symptom.NOT_RESPONDING),
            Facts(),
            {"Joined": ("True", "CredentialsFound"), "Ready": ("False", "ClusterNotResponding")},
        ),
        (
            Health(State.NOT_READY, "x", symptom=Symptom.NOT_AUTHENTICATED),
            Facts(),
            {"Joined": ("False", "CredentialsRejected"), "Ready": ("False", "CredentialsRejected")},
        ),
        (
            Health(State.READY, "x", symptom=Symptom.READY),
            Facts(denied="nodes is forbidden"),
            {"Joined": ("False", "AccessDenied"), "Ready": ("True", "ClusterReady")},
        ),
        (
            Health(State.OFFLINE, "x", symptom=Symptom.UNUSABLE),
            Facts(),
            {"Joined": ("False", "CredentialsUnusable"), "Offline": ("True", "CredentialsUnusable")},
        ),
    ],
    ids=["hangs", "401", "403 on nodes", "no secret"],
)
def test_conditions_say_what_is_wrong_and_are_read_back(health, facts, expected):
    status = cluster_status({}, health, facts, "2030-01-01T00:00:00Z")
    back = health_from_status(status["conditions"])

    assert expected.items() <= conditions(status).items()
    assert (back.state, back.symptom) == (health.state, health.symptom)


def test_credentials_that_work_again_are_said_to():
    ready = Health(State.READY, "x", symptom=Symptom.READY)
    rejected = cluster_status({}, Health(State.NOT_READY, "x", symptom=Symptom.NOT_AUTHENTICATED), Facts(), "t")
    denied = cluster_status({}, ready, Facts(denied="no"), "t")

    assert conditions(cluster_status(rejected, ready, Facts(), "t"))["Joined"][0] == "True"
    assert conditions(cluster_status(denied, ready, Facts(), "t"))["Joined"][0] == "False"
    assert conditions(cluster_status(denied, ready, Facts(denied=""), "t"))["Joined"][0] == "True"
