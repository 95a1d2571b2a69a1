"""HorizontalPodAutoscalers: replicas are sums, usage is the average over all of them."""

from __future__ import annotations

from hanse.kube.conditions import condition, find_condition
from hanse.kube.manifest import Obj, dig
from hanse.propagation.report import Report
from hanse.propagation.statuses.conditions import dated, observed_generation, propagated

_TYPES = ("AbleToScale", "ScalingActive", "ScalingLimited")


def autoscaler_status(source: Obj, report: Report, now: str) -> Obj:
    """Return the status of an autoscaler."""
    rows = [(row.cluster, row.observed) for row in report.rows if row.live and row.observed is not None]
    members = [obj for _, obj in rows]
    old: Obj = source.get("status") or {}
    status: Obj = {name: _sum(members, name) for name in ("currentReplicas", "desiredReplicas")}
    metrics = _metrics(source, members)
    if metrics or "currentMetrics" in old:
        # A real API server always shows the field, be it null; to leave it out would be a change.
        status["currentMetrics"] = metrics or None
    times = [time for obj in (source, *members) if (time := dig(obj, "status", "lastScaleTime"))]
    if times:
        status["lastScaleTime"] = max(times)
    if generation := observed_generation(source, report):
        status["observedGeneration"] = generation
    fresh = [told for kind in _TYPES if (told := _condition(kind, rows))]
    status["conditions"] = dated(old.get("conditions") or [], [*fresh, propagated(report)], now)
    return status


def _condition(kind: str, rows: list[tuple[str, Obj]]) -> Obj | None:
    """Return a condition of the members: for bad news, and for a limit that was reached, the first that has it."""
    found = [(name, told) for name, obj in rows if (told := find_condition(dig(obj, "status", "conditions"), kind))]
    if not found:
        return None
    telling = "True" if kind == "ScalingLimited" else "False"
    name, told = next(((name, told) for name, told in found if told.get("status") == telling), found[0])
    text = f"{name}: {told.get('message') or 'says nothing more'}"
    return condition(kind, told.get("status") == "True", told.get("reason") or "Unknown", text)


def _metrics(source: Obj, members: list[Obj]) -> list[Obj]:
    """Return the usage of resources that the autoscaler is told to look at, weighed by the members' replicas."""
    wanted = [
        dig(entry, "resource", "name")
        for entry in dig(source, "spec", "metrics", default=[])
        if entry.get("type") == "Resource"
    ]
    told = []
    for name in dict.fromkeys(wanted):
        shares = [(use, replicas) for obj in members if (use := _usage(obj, name)) and (replicas := _current(obj))]
        if replicas := sum(count for _, count in shares):
            average = sum(use * count for use, count in shares) // replicas
            told.append({"type": "Resource", "resource": {"name": name, "current": {"averageUtilization": average}}})
    return told


def _usage(obj: Obj, name: str) -> int:
    for entry in dig(obj, "status", "currentMetrics", default=[]) or []:
        if dig(entry, "resource", "name") == name:
            return int(dig(entry, "resource", "current", "averageUtilization", default=0))
    return 0


def _current(obj: Obj) -> int:
    return int(dig(obj, "status", "currentReplicas", default=0))


def _sum(members: list[Obj], name: str) -> int:
    return sum(int(dig(obj, "status", name, default=0)) for obj in members)
