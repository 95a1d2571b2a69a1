"""Decides to what an autoscaler scales its target, and what its status says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import parse_quantity
from hanse.kube.runtime import timestamp
from hanse.simulator.workloads.autoscaler_pace import Memory, Moment, bounds_of, limit_pace
from hanse.simulator.workloads.autoscaler_usage import TOLERANCE, NoProposal, Proposal, Target, Usage, milli, propose
from hanse.simulator.workloads.telling import Told

_FAILED = {
    "Resource": "FailedGetResourceMetric",
    "ContainerResource": "FailedGetContainerResourceMetric",
    "Pods": "FailedGetPodsMetric",
    "Object": "FailedGetObjectMetric",
    "External": "FailedGetExternalMetric",
}
_FOUND_SCALE = ("SucceededGetScale", "the HPA controller was able to get the target's current scale")
_DISABLED = ("ScalingDisabled", "scaling is disabled since the replica count of the target is zero")


@dataclass(frozen=True, slots=True)
class Readings:
    """What the metrics API tells of the target's pods, by resource and container; or why it tells nothing."""

    usage: Mapping[tuple[str, str], Mapping[str, Usage]]
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class AutoscalerPlan:
    """The next step of an autoscaler; `replicas` is None where the target stays as it is."""

    status: Obj
    replicas: int | None
    memory: Memory
    reason: str = ""
    events: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class _Outcome:
    replicas: int
    name: str
    shown: list[Obj]
    failure: tuple[str, str] | None
    invalid: int


def resources_of(autoscaler: Obj) -> set[tuple[str, str]]:
    """Return the resources, and containers where named, whose use must be read."""
    found = set()
    for metric in dig(autoscaler, "spec", "metrics", default=[]):
        source = metric.get("resource") or metric.get("containerResource")
        if source is not None:
            found.add((str(source["name"]), str(source.get("container", ""))))
    return found


def plan_autoscaler(
    autoscaler: Obj, *, current: int, pods: Sequence[Obj], readings: Readings, memory: Memory, now: float
) -> AutoscalerPlan:
    """Compare an autoscaler's metrics with its targets."""
    least, most = bounds_of(autoscaler)
    conditions = [condition("AbleToScale", True, *_FOUND_SCALE)]
    if not memory.recommended:
        memory = Memory(recommended=(Moment(now, current),))
    if current == 0:
        conditions.append(condition("ScalingActive", False, *_DISABLED))
        return _plan(autoscaler, current, None, conditions, memory, now, shown=[])
    if current > most:
        reason = "Current number of replicas above Spec.MaxReplicas"
        return _plan(autoscaler, current, most, conditions, memory, now, shown=[], reason=reason)
    if current < least:
        reason = "Current number of replicas below Spec.MinReplicas"
        return _plan(autoscaler, current, least, conditions, memory, now, shown=[], reason=reason)
    metrics: list[Obj] = dig(autoscaler, "spec", "metrics", default=[])
    outcome = _weigh(autoscaler, metrics, pods, readings, current, now)
    if outcome.failure is not None and (outcome.invalid >= len(metrics) or outcome.replicas < current):
        return _stuck(autoscaler, current, conditions, memory, now, outcome)
    found = f"the HPA was able to successfully calculate a replica count from {outcome.name}"
    conditions.append(condition("ScalingActive", True, "ValidMetricFound", found))
    pace = limit_pace(autoscaler, memory, current=current, wanted=outcome.replicas, now=now)
    conditions += pace.conditions
    above = f"{outcome.name} above target"
    reason = above if outcome.replicas > current else "All metrics below target"
    replicas = pace.replicas if pace.replicas != current else None
    return _plan(autoscaler, current, replicas, conditions, pace.memory, now, shown=outcome.shown, reason=reason)


def _weigh(
    autoscaler: Obj, metrics: Iterable[Obj], pods: Sequence[Obj], readings: Readings, current: int, now: float
) -> _Outcome:
    """Return what the most demanding metric asks for; the first failure is kept too."""
    replicas, name, invalid = 0, "", 0
    failure: tuple[str, str] | None = None
    shown: list[Obj] = []
    for metric in metrics:
        kind = str(metric.get("type", ""))
        try:
            target = _target(autoscaler, metric)
            proposal = _proposal(target, pods, readings, current, now)
        except NoProposal as error:
            invalid += 1
            failure = failure or (_FAILED.get(kind, "InvalidMetricSourceType"), str(error))
            shown.append({"type": ""})
            continue
        shown.append(_shown(metric, proposal))
        if replicas == 0 or proposal.replicas > replicas:
            replicas, name = proposal.replicas, _name(kind, target)
    return _Outcome(replicas, name, shown, failure, invalid)


def _target(autoscaler: Obj, metric: Obj) -> Target:
    source = metric.get("resource") or metric.get("containerResource")
    kind = metric.get("type", "")
    if source is None:
        raise NoProposal(f"unable to get {str(kind).lower()} metric: no custom metrics API is served")
    target = source.get("target") or {}
    average = target.get("averageValue")
    if average is None and target.get("averageUtilization") is None:
        missing = "neither an average utilization target nor an average value (usage) target was set"
        raise NoProposal(f"invalid resource metric source: {missing}")
    return Target(
        resource=str(source["name"]),
        container=str(source.get("container", "")),
        utilization=target.get("averageUtilization"),
        average=None if average is None else milli(average),
        up_tolerance=_tolerance(autoscaler, "scaleUp"),
        down_tolerance=_tolerance(autoscaler, "scaleDown"),
    )


def _tolerance(autoscaler: Obj, direction: str) -> float:
    tolerance = dig(autoscaler, "spec", "behavior", direction, "tolerance")
    return TOLERANCE if tolerance is None else float(parse_quantity(tolerance))


def _proposal(target: Target, pods: Sequence[Obj], readings: Readings, current: int, now: float) -> Proposal:
    what = "usage" if target.average is not None else "utilization"
    failed = f"failed to get {target.resource} {what}"
    unread = f"{failed}: unable to get metrics for resource {target.resource}"
    if readings.trouble:
        raise NoProposal(f"{unread}: {readings.trouble}")
    usage = readings.usage.get((target.resource, target.container))
    if not usage:
        raise NoProposal(f"{unread}: no metrics returned from resource metrics API")
    try:
        return propose(target, pods, usage, current, now)
    except NoProposal as error:
        raise NoProposal(f"{failed}: {error}") from error


def _name(kind: str, target: Target) -> str:
    if target.average is not None:
        return f"{target.resource} resource"
    part = "container resource" if kind == "ContainerResource" else "resource"
    return f"{target.resource} {part} utilization (percentage of request)"


def _shown(metric: Obj, proposal: Proposal) -> Obj:
    if metric.get("resource") is not None:
        return {"type": "Resource", "resource": {"name": metric["resource"]["name"], "current": proposal.current}}
    source = metric["containerResource"]
    shown = {"name": source["name"], "container": source["container"], "current": proposal.current}
    return {"type": "ContainerResource", "containerResource": shown}


def _stuck(
    autoscaler: Obj, current: int, conditions: list[Obj], memory: Memory, now: float, outcome: _Outcome
) -> AutoscalerPlan:
    """Say which metric cannot be read; the target stays as it is."""
    reason, why = outcome.failure or ("", "")
    told = f"the HPA was unable to compute the replica count: {why}"
    conditions.append(condition("ScalingActive", False, reason, told))
    status = _status(autoscaler, current, dig(autoscaler, "status", "desiredReplicas", default=0), conditions, now)
    status["currentMetrics"] = outcome.shown
    count = len(outcome.shown)
    summary = f"invalid metrics ({outcome.invalid} invalid out of {count}), first error is: {_sourced(reason, why)}"
    events = (Told(reason, why, warning=True), Told("FailedComputeMetricsReplicas", summary, warning=True))
    return AutoscalerPlan(status, None, memory, events=events)


def _sourced(reason: str, why: str) -> str:
    kind = {"FailedGetResourceMetric": "resource", "FailedGetContainerResourceMetric": "container resource"}.get(reason)
    return f"failed to get {kind} metric value: {why}" if kind else why


def _plan(
    autoscaler: Obj,
    current: int,
    replicas: int | None,
    conditions: list[Obj],
    memory: Memory,
    now: float,
    *,
    shown: list[Obj],
    reason: str = "",
) -> AutoscalerPlan:
    events: tuple[Told, ...] = ()
    desired = current
    if replicas is not None:
        desired = replicas
        told = f"the HPA controller was able to update the target scale to {replicas}"
        conditions = [*conditions, condition("AbleToScale", True, "SucceededRescale", told)]
        events = (Told("SuccessfulRescale", f"New size: {replicas}; reason: {reason}"),)
        memory = memory.scaled(current, replicas, now)
    status = _status(autoscaler, current, 0 if current == 0 else desired, conditions, now)
    status["currentMetrics"] = shown or None
    if replicas is not None:
        status["lastScaleTime"] = timestamp(now)
    return AutoscalerPlan(status, replicas, memory, reason, events)


def failed_status(autoscaler: Obj, reason: str, message: str, now: float) -> Obj:
    """Return the status when the target's scale could not be read or written."""
    before = autoscaler.get("status") or {}
    entry = condition("AbleToScale", False, reason, message)
    return {**before, "conditions": merge_conditions(before.get("conditions"), [entry], timestamp(now))}


def _status(autoscaler: Obj, current: int, desired: int, conditions: list[Obj], now: float) -> Obj:
    before = autoscaler.get("status") or {}
    status: Obj = {"desiredReplicas": desired}
    if current:
        status["currentReplicas"] = current
    if before.get("lastScaleTime"):
        status["lastScaleTime"] = before["lastScaleTime"]
    merged: list[Obj] = before.get("conditions") or []
    for entry in conditions:
        merged = merge_conditions(merged, [entry], timestamp(now))
    return {**status, "conditions": merged}
