"""What an autoscaler makes of its pods' use of resources, and how fast it follows."""

import pytest

from hanse.kube.runtime import timestamp
from hanse.simulator.workloads.autoscaler_pace import Memory, Moment, limit_pace
from hanse.simulator.workloads.autoscaler_plan import Readings, plan_autoscaler
from hanse.simulator.workloads.autoscaler_usage import NoProposal, Target, Usage, propose
from hanse.simulator.workloads.autoscalers import usage_of

NOW = 1_800_000_000.0
HALF = Target("cpu", utilization=50)


def pod(name, *, phase="Running", ready=True, started=NOW - 1000, request="100m", **metadata):
    conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": timestamp(started + 5)}]
    requests = {"requests": {"cpu": request, "memory": "64Mi"}} if request else {}
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [{"name": "main", "resources": requests}]},
        "status": {"phase": phase, "conditions": conditions, "startTime": timestamp(started)},
    }


def pods(count):
    return [pod(f"p{number}") for number in range(count)]


def using(*values):
    return {f"p{number}": Usage(value, NOW, 30.0) for number, value in enumerate(values)}


@pytest.mark.parametrize(
    ("running", "usage", "expected"),
    [
        pytest.param(pods(2), using(50, 50), 2, id="on target"),
        pytest.param(pods(2), using(54, 54), 2, id="within tolerance"),
        pytest.param(pods(2), using(100, 100), 4, id="twice the target"),
        pytest.param(pods(3), using(10, 10, 10), 1, id="far below"),
        pytest.param([*pods(2), pod("young", phase="Pending")], using(100, 100), 4, id="a pending pod uses nothing"),
        pytest.param(pods(3), using(100, 100), 4, id="one without a metric uses nothing on the way up"),
        pytest.param(pods(3), using(20, 20), 3, id="and all that it asked for on the way down"),
        pytest.param(
            [*pods(1), pod("p1", started=NOW - 20, ready=False)],
            using(100, 100),
            2,
            id="one that warms up uses nothing",
        ),
        pytest.param([*pods(1), pod("p1", deletionTimestamp="now")], using(50, 500), 2, id="one that goes is ignored"),
    ],
)
def test_use_asks_for_replicas(running, usage, expected):
    assert propose(HALF, running, usage, len(running), NOW).replicas == expected


def test_an_amount_a_pod_is_a_target_too():
    target = Target("memory", average=64 * 2**20 * 1000)
    usage = {"p0": Usage(128 * 2**20 * 1000), "p1": Usage(64 * 2**20 * 1000)}
    proposal = propose(target, pods(2), usage, 2, NOW)
    assert proposal.replicas == 3
    assert proposal.current == {"averageValue": "96Mi"}


@pytest.mark.parametrize(
    ("target", "running", "usage", "told"),
    [
        (HALF, [], {}, "no pods returned by selector while calculating replica count"),
        (HALF, pods(1), {}, "did not receive metrics for targeted pods (pods might be unready)"),
        (HALF, [pod("p0", request="")], using(5), "missing request for cpu in container main of Pod p0"),
        (Target("cpu", "side", 50), pods(1), using(5), "container side not found in Pod p0"),
    ],
)
def test_what_cannot_be_reckoned_is_said(target, running, usage, told):
    with pytest.raises(NoProposal) as refused:
        propose(target, running, usage, 1, NOW)
    assert str(refused.value) == told


def autoscaler(status=None, **spec):
    resource = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    metrics = [{"type": "Resource", "resource": resource}]
    return {"spec": {"minReplicas": 1, "maxReplicas": 10, "metrics": metrics, **spec}, "status": status or {}}


def rules(window=0, choice="Max", **policies):
    made = [{"type": kind, "value": value, "periodSeconds": period} for kind, (value, period) in policies.items()]
    return {"stabilizationWindowSeconds": window, "selectPolicy": choice, "policies": made}


FREE = {"scaleUp": rules(Percent=(900, 15)), "scaleDown": rules(Percent=(100, 15))}


def remembering(*recommended, grown=(), shrunk=()):
    return Memory(
        tuple(Moment(NOW - age, number) for age, number in recommended),
        tuple(Moment(NOW - age, number) for age, number in grown),
        tuple(Moment(NOW - age, number) for age, number in shrunk),
    )


@pytest.mark.parametrize(
    ("behavior", "memory", "current", "wanted", "expected", "able", "limited"),
    [
        (None, Memory(), 2, 3, 3, "ReadyForNewScale", "DesiredWithinRange"),
        (None, Memory(), 1, 9, 4, "ReadyForNewScale", "ScaleUpLimit"),
        (None, Memory(), 6, 50, 10, "ReadyForNewScale", "TooManyReplicas"),
        (None, Memory(), 3, 0, 1, "ReadyForNewScale", "TooFewReplicas"),
        (None, remembering((200, 5)), 5, 2, 5, "ScaleDownStabilized", "DesiredWithinRange"),
        (None, remembering((400, 5)), 5, 2, 2, "ReadyForNewScale", "DesiredWithinRange"),
        (FREE, remembering((200, 5)), 5, 2, 2, "ReadyForNewScale", "DesiredWithinRange"),
        ({**FREE, "scaleUp": rules(60, Pods=(9, 15))}, remembering((30, 3)), 2, 6, 3, "ScaleUpStabilized", None),
        ({**FREE, "scaleUp": rules(Pods=(2, 60))}, Memory(), 2, 9, 4, "ReadyForNewScale", "ScaleUpLimit"),
        (
            {**FREE, "scaleUp": rules(Pods=(2, 60))},
            remembering(grown=[(30, 2)]),
            4,
            9,
            4,
            "ReadyForNewScale",
            "ScaleUpLimit",
        ),
        (
            {**FREE, "scaleUp": rules(Pods=(2, 60))},
            remembering(grown=[(90, 2)]),
            4,
            9,
            6,
            "ReadyForNewScale",
            "ScaleUpLimit",
        ),
        ({**FREE, "scaleUp": rules(Pods=(1, 60), Percent=(100, 60))}, Memory(), 4, 10, 8, None, "ScaleUpLimit"),
        (
            {**FREE, "scaleUp": rules(0, "Min", Pods=(1, 60), Percent=(100, 60))},
            Memory(),
            4,
            10,
            5,
            None,
            "ScaleUpLimit",
        ),
        ({**FREE, "scaleDown": rules(Percent=(50, 60))}, Memory(), 5, 1, 2, None, "ScaleDownLimit"),
        ({**FREE, "scaleDown": rules(0, "Disabled")}, Memory(), 5, 1, 5, None, "ScaleDownLimit"),
    ],
)
def test_the_pace_is_limited(behavior, memory, current, wanted, expected, able, limited):
    pace = limit_pace(autoscaler(behavior=behavior), memory, current=current, wanted=wanted, now=NOW)
    assert pace.replicas == expected
    reasons = {entry["type"]: entry["reason"] for entry in pace.conditions}
    assert reasons["AbleToScale"] == (able or "ReadyForNewScale")
    assert reasons["ScalingLimited"] == (limited or "DesiredWithinRange")
    assert pace.memory.recommended[-1] == Moment(NOW, wanted)


def plan(owner, current, *, running=(), usage=None, trouble=""):
    readings = Readings({("cpu", ""): usage or {}}, trouble)
    return plan_autoscaler(owner, current=current, pods=running, readings=readings, memory=Memory(), now=NOW)


def told(done):
    return {entry["type"]: (entry["status"], entry["reason"]) for entry in done.status["conditions"]}


def test_load_scales_up_and_says_why():
    done = plan(autoscaler(), 2, running=pods(2), usage=using(100, 100))
    assert done.replicas == 4
    assert [event.message for event in done.events] == [
        "New size: 4; reason: cpu resource utilization (percentage of request) above target"
    ]
    assert told(done) == {
        "AbleToScale": ("True", "SucceededRescale"),
        "ScalingActive": ("True", "ValidMetricFound"),
        "ScalingLimited": ("False", "DesiredWithinRange"),
    }
    assert done.status["currentMetrics"] == [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": 100, "averageValue": "100m"}},
        }
    ]
    assert (done.status["currentReplicas"], done.status["desiredReplicas"]) == (2, 4)
    assert done.status["lastScaleTime"] == timestamp(NOW)


@pytest.mark.parametrize(
    ("current", "replicas", "reason"),
    [
        (12, 10, "Current number of replicas above Spec.MaxReplicas"),
        (1, 2, "Current number of replicas below Spec.MinReplicas"),
    ],
)
def test_bounds_hold_without_any_metric(current, replicas, reason):
    done = plan(autoscaler(minReplicas=2), current)
    assert (done.replicas, done.reason) == (replicas, reason)


def test_a_target_of_none_is_left_alone():
    done = plan(autoscaler(), 0)
    assert done.replicas is None
    assert told(done)["ScalingActive"] == ("False", "ScalingDisabled")


def test_without_metrics_nothing_is_scaled_and_that_is_said():
    done = plan(autoscaler(), 2, running=pods(2), trouble="nobody serves them")
    assert done.replicas is None
    assert told(done)["ScalingActive"] == ("False", "FailedGetResourceMetric")
    [_, summary] = done.events
    assert summary.message == (
        "invalid metrics (1 invalid out of 1), first error is: failed to get resource metric value: "
        "failed to get cpu utilization: unable to get metrics for resource cpu: nobody serves them"
    )


def test_pod_metrics_are_read():
    item = {
        "metadata": {"name": "p0"},
        "timestamp": timestamp(NOW),
        "window": "1m30s",
        "containers": [
            {"name": "main", "usage": {"cpu": "250m", "memory": "1Ki"}},
            {"name": "side", "usage": {"cpu": "10m", "memory": "1Ki"}},
        ],
    }
    assert usage_of([item], "cpu", "") == {"p0": Usage(260, NOW, 90.0)}
    assert usage_of([item], "memory", "side") == {"p0": Usage(1024 * 1000, NOW, 90.0)}
    assert usage_of([item], "cpu", "other") == {}
