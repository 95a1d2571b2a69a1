"""Which pods a ReplicaSet makes and which it removes."""

from dataclasses import replace

import pytest

from hanse.kube.manifest import Key
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.expectations import Expectations
from hanse.simulator.workloads.replicas import (
    is_available,
    next_availability,
    plan_replicas,
    removal_order,
    replica_set_status,
)

LABELS = {"app": "web"}


def pod(name, **facts):
    facts.setdefault("node", "node-1")
    facts.setdefault("phase", "Running")
    return PodFacts(Key("shop", name), uid=f"uid-{name}", labels=LABELS, **facts)


def replica_set(replicas, **metadata):
    template = {"metadata": {"labels": LABELS}}
    return {
        "metadata": {"name": "web", "namespace": "shop", "generation": 3, **metadata},
        "spec": {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template},
    }


def names(pods):
    return [entry.key.name for entry in pods]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod("b", node=""), pod("a", phase="Pending")),
        (pod("b", phase="Pending"), pod("a")),
        (pod("b"), pod("a", ready=True)),
        (pod("b", ready=True, deletion_cost=-5), pod("a", ready=True)),
        (pod("b", ready=True, ready_since=20), pod("a", ready=True, ready_since=10)),
        (pod("b", restarts=4), pod("a", restarts=1)),
        (pod("b", created=20), pod("a", created=10)),
    ],
    ids=["unscheduled", "pending", "not ready", "cheaper", "ready for less long", "more restarts", "newer"],
)
def test_what_is_missed_least_is_removed_first(first, second):
    assert names(removal_order([second, first])) == ["b", "a"]


def test_a_pod_that_shares_its_node_goes_before_one_that_is_alone():
    alone, shared, sharing = (pod("a", ready=True), pod("b", node="n2", ready=True), pod("c", node="n2", ready=True))
    assert names(removal_order([alone, shared, sharing]))[-1] == "a"


@pytest.mark.parametrize(
    ("wanted", "have", "coming", "leaving", "create", "delete"),
    [
        (3, "", "", "", 3, ""),
        (3, "abc", "", "", 0, ""),
        (3, "a", "bc", "", 0, ""),
        (3, "a", "b", "", 1, ""),
        (3, "ab", "b", "", 1, ""),
        (2, "abcd", "", "", 0, "ab"),
        (2, "abcd", "", "cd", 0, ""),
        (3, "abc", "", "c", 1, ""),
    ],
)
def test_writes_that_the_cache_does_not_show_yet_count_as_done(wanted, have, coming, leaving, create, delete):
    plan = plan_replicas(
        replica_set(wanted),
        owned=[pod(name) for name in have],
        coming={Key("shop", name) for name in coming},
        leaving={Key("shop", name) for name in leaving},
    )
    assert (plan.create, names(plan.delete)) == (create, list(delete))


def test_orphans_that_match_are_adopted_and_count():
    stranger = replace(pod("s"), labels={"app": "other"})
    plan = plan_replicas(replica_set(2), owned=[], orphans=[pod("o"), stranger, pod("d", deleting=True)])
    assert (names(plan.adopt), plan.create) == (["o"], 1)


def test_a_pod_that_no_longer_matches_is_let_go_and_replaced():
    plan = plan_replicas(replica_set(1), owned=[replace(pod("x"), labels={"app": "debug"})])
    assert (names(plan.release), plan.create, plan.delete) == (["x"], 1, ())


def test_finished_and_deleted_pods_are_no_replicas():
    plan = plan_replicas(replica_set(2), owned=[pod("f", phase="Failed"), pod("d", deleting=True)])
    assert (plan.create, plan.terminating) == (2, 1)


def test_a_replica_set_that_is_being_deleted_makes_nothing():
    plan = plan_replicas(replica_set(3, deletionTimestamp="2026-01-01T00:00:00Z"), owned=[], orphans=[pod("o")])
    assert (plan.create, plan.adopt, plan.delete) == (0, (), ())


def test_the_status_counts_and_leaves_zeroes_out():
    plan = plan_replicas(replica_set(3), owned=[pod("a", ready=True), pod("b")])
    status = replica_set_status(replica_set(3), plan, now=100.0, stamp="t")
    assert status == {
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "terminatingReplicas": 0,
        "observedGeneration": 3,
    }


def test_a_refused_creation_is_a_condition():
    plan = plan_replicas(replica_set(1), owned=[])
    status = replica_set_status(replica_set(1), plan, now=0.0, stamp="t", failure="exceeded quota")
    assert [(entry["reason"], entry["message"]) for entry in status["conditions"]] == [
        ("FailedCreate", "exceeded quota")
    ]


def test_availability_comes_after_min_ready_seconds():
    young = pod("a", ready=True, ready_since=95.0)
    assert not is_available(young, 10, 100.0)
    assert is_available(young, 10, 105.0)
    assert next_availability([young, pod("b")], 10, 100.0) == 5.0


def test_what_the_cache_never_shows_is_forgotten_after_a_while():
    expectations = Expectations()
    expectations.expect(Key("shop", "a"), 0.0)
    assert expectations.coming(299.0) == {Key("shop", "a")}
    assert expectations.coming(301.0) == set()


def test_a_creation_without_an_answer_is_tried_again_under_the_same_name():
    expectations = Expectations()
    expectations.expect(Key("shop", "a"), 0.0)
    expectations.unanswered(Key("shop", "a"))
    assert expectations.coming(0.0) == set()
    assert expectations.take_uncertain() == Key("shop", "a")
    assert expectations.take_uncertain() is None


def test_a_creation_without_an_answer_that_shows_up_is_not_repeated():
    expectations = Expectations()
    expectations.expect(Key("shop", "a"), 0.0)
    expectations.unanswered(Key("shop", "a"))
    expectations.seen(Key("shop", "a"))
    assert expectations.take_uncertain() is None
