"""Which workloads look at the pods that wait for a node, which pods are theirs, and what follows."""

from dataclasses import replace

import pytest

from hanse.placement.ask import ClusterTerm, Duplicated, Equally, Group, Placement, Spread, State, Weighted, WeightRule
from hanse.placement.candidate import Candidate
from hanse.placement.decision import decide
from hanse.placement.unschedulable import PodView
from hanse.propagation.planning import Observation, plan
from hanse.propagation.scale import WORKLOAD
from hanse.propagation.waiting_pods import lacks_replicas, looks_at_room, pending_view, room_for, selector_of
from tests.unit.propagation.builders import config_intent, copy, deployment_intent, fleet

TIME = "2026-01-01T00:00:00Z"
SECONDS = 1767225600.0

WORK = {
    "divided": ({}, True),
    "the same everywhere": ({"division": Duplicated()}, False),
    "groups in order": ({"groups": (Group("first", ClusterTerm()),)}, False),
    "spread": ({"spread": (Spread("region"),)}, False),
    "at most once": ({"at_most_once": True}, False),
}


@pytest.mark.parametrize("case", WORK.values(), ids=WORK.keys())
def test_only_replicas_that_may_go_elsewhere_look_at_room(case):
    changes, looks = case
    intent = deployment_intent()

    assert looks_at_room(replace(intent, placement=replace(intent.placement, **changes))) is looks
    assert not looks_at_room(config_intent())


SELECTORS = {
    "a Deployment's": ({"matchLabels": {"app": "web"}}, "app=web"),
    "a ReplicationController's": ({"app": "web"}, "app=web"),
    "none": (None, None),
    "of another shape": ({"pods": {"app": "web"}}, None),
}


@pytest.mark.parametrize("case", SELECTORS.values(), ids=SELECTORS.keys())
def test_a_workloads_pods_are_those_that_it_selects(case):
    selector, text = case
    intent = deployment_intent()
    found = selector_of(replace(intent, template={**intent.template, "spec": {"selector": selector}}))

    assert (found and str(found)) == text


def pod(status="False", reason="Unschedulable", **metadata):
    told = {"type": "PodScheduled", "status": status, "reason": reason, "lastTransitionTime": TIME}
    return {"metadata": metadata, "status": {"conditions": [told]}}


PODS = {
    "given up": (pod(), SECONDS),
    "on its way": (pod(status="True"), None),
    "held back": (pod(reason="SchedulingGated"), None),
    "going": (pod(deletionTimestamp=TIME), None),
    "not looked at yet": ({"metadata": {}}, None),
}


@pytest.mark.parametrize("case", PODS.values(), ids=PODS.keys())
def test_a_pod_waits_once_its_scheduler_has_given_it_up(case):
    seen, since = case

    assert pending_view(seen).unschedulable_since == since


@pytest.mark.parametrize(
    ("ready", "waiting", "room"),
    [(3, 2, 3), (5, 2, 5), (3, 0, None), (1, 4, 1)],
    ids=["v1-40", "a rollout's surplus", "none waits", "most wait"],
)
def test_a_cluster_holds_what_it_was_asked_for_less_what_waits_and_never_less_than_runs(ready, waiting, room):
    intent = deployment_intent()
    pods = [PodView(unschedulable_since=SECONDS)] * waiting

    assert room_for(intent, copy(intent, 5, ready), pods, SECONDS + 61)[0] == room


def test_a_copy_lacks_replicas_only_where_it_is_ours_and_fewer_are_ready_than_asked_for():
    intent = deployment_intent()
    other = replace(intent, source_uid="other")

    assert lacks_replicas(intent, copy(intent, 5, 4))
    assert not lacks_replicas(intent, copy(intent, 5, 5))
    assert not lacks_replicas(intent, copy(other, 5, 4))
    assert not lacks_replicas(intent, None)


EVERYWHERE = WeightRule(ClusterTerm(), 1)
DIVISIONS = {
    "one is full": (Equally(), {"a": 3}, {"a": 4, "b": 5}, {"a": 1}, 0),
    "by weight": (Weighted((EVERYWHERE,)), {"a": 1}, {"a": 4, "b": 7}, {"a": 3}, 0),
    "room for more than its share": (Equally(), {"a": 6}, {"a": 4, "b": 4}, {}, 0),
    "all are full": (Equally(), {"a": 3, "b": 3}, {"a": 4, "b": 4}, {"a": 1, "b": 1}, 2),
}


@pytest.mark.parametrize("case", DIVISIONS.values(), ids=DIVISIONS.keys())
def test_what_a_full_cluster_cannot_hold_runs_elsewhere_and_waits_for_room_there(case):
    division, estimated, replicas, overflow, unplaced = case
    state = State(estimated=estimated)

    decision = decide([Candidate("a"), Candidate("b")], Placement(division=division), replicas=8, state=state)

    assert (decision.replicas, decision.overflow, decision.unplaced) == (replicas, overflow, unplaced)
    if overflow:
        assert f"{overflow['a']} more wait there for room" in decision.of("a").reasons[-1]


def test_as_a_full_cluster_finds_room_the_others_give_up_as_much():
    intent = deployment_intent(8)
    observed = {"a": Observation(True, copy(intent, 4, 2)), "b": Observation(True, copy(intent, 7, 7))}

    wanted = plan(intent, fleet("a", "b"), observed, estimated={"a": 2}).wanted

    assert {name: WORKLOAD.asked(wish.manifest) for name, wish in wanted.items()} == {"a": 4, "b": 6}
