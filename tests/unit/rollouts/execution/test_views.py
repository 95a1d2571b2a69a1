"""How stored objects are read."""

from typing import Any

import pytest

from hanse.kube.manifest import Key
from hanse.rollouts.environment import EnvironmentProblem, Pair, parse_strategy
from hanse.rollouts.execution import Achieved, TargetView, view_of

READY = [{"type": "Ready", "status": "True"}]
STRATEGY = {"steps": [{"name": "all", "capacity": {"contender": 100}, "traffic": {"contender": 100}}]}


def release(**status: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "web-0",
            "namespace": "shop",
            "annotations": {"shipper.booking.com/release.clusters": "a,b", "hanse.dev/rollout-paused": "true"},
        },
        "spec": {"targetStep": 1, "environment": {"strategy": STRATEGY}},
        "status": status,
    }


def stored(generation: int, wanted: list[Any], **status: Any) -> dict[str, Any]:
    return {"metadata": {"generation": generation}, "spec": {"clusters": wanted}, "status": status}


def test_a_release_is_read_with_its_targets():
    told = [{"type": "ContenderAchievedCapacity", "status": "True", "step": 0}]
    found = view_of(
        release(
            achievedStep={"step": 0, "name": "all"},
            conditions=[{"type": "Complete", "status": "True"}],
            strategy={"conditions": told},
            progress={"step": 1},
        ),
        stored(1, ["a", "b"], clusters=[{"name": "a", "conditions": READY}]),
        stored(
            3,
            [{"name": "a", "percent": 50, "totalReplicaCount": 4}],
            observedGeneration=2,
            clusters=[{"name": "a", "conditions": READY}],
            conditions=READY,
        ),
        stored(
            2,
            [{"name": "a", "weight": 10}],
            observedGeneration=2,
            clusters=[{"name": "a", "conditions": [{"type": "Ready", "status": "False", "reason": "PodsNotReady"}]}],
            conditions=[{"type": "Ready", "status": "False", "message": "a: PodsNotReady 1/2"}],
        ),
    )

    assert (found.key, found.target_step, found.clusters) == (Key("shop", "web-0"), 1, ("a", "b"))
    assert found.strategy.steps[0].capacity == Pair(0, 100)
    assert (found.achieved, found.complete, found.paused) == (Achieved(0, "all"), True, True)
    assert (found.conditions, found.progress) == (tuple(told), {"step": 1})
    assert found.installation == TargetView(
        {"a": 0, "b": 0}, True, {"a": True, "b": False}, {"a": "", "b": ""}, whole=False
    )
    assert found.capacity == TargetView({"a": 50}, False, {"a": True}, {"a": ""})
    assert found.traffic == TargetView(
        {"a": 10}, True, {"a": False}, {"a": "PodsNotReady"}, "a: PodsNotReady 1/2", whole=False
    )


def test_a_release_that_nobody_has_looked_at_yet_is_read_too():
    bare = release()
    del bare["status"], bare["metadata"]["annotations"]

    found = view_of(bare, None, None, None)

    assert (found.achieved, found.complete, found.paused, found.progress) == (None, False, False, {})
    assert (found.installation, found.capacity, found.traffic, found.clusters) == (None, None, None, ())


def test_a_target_without_a_status_is_not_current():
    found = view_of(release(), None, {"metadata": {"generation": 1}, "spec": {"clusters": [{"name": "a"}]}}, None)

    assert found.capacity == TargetView({"a": 0}, False, {"a": False}, {"a": ""}, whole=False)


def test_a_strategy_that_cannot_be_read_is_refused():
    broken = release()
    broken["spec"]["environment"]["strategy"] = {"deadline": {"duration": "soon"}}

    with pytest.raises(EnvironmentProblem):
        view_of(broken, None, None, None)


def test_a_selector_of_a_wave_that_cannot_be_read_names_the_field():
    selector = {"matchExpressions": [{"key": "tier", "operator": "In"}]}
    with pytest.raises(EnvironmentProblem, match=r"strategy\.waves\[0\]\.selector: "):
        parse_strategy({"waves": [{"name": "first", "selector": selector}]})
