"""How many replicas the use of a resource asks for: the arithmetic of an autoscaler's metric, as upstream reckons it.

Pods that have no metric yet, or are not ready, are counted so that a doubt never scales: on the way up as using
nothing, on the way down as using what they may.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig, is_deleting, name_of
from hanse.kube.quantities import format_quantity, parse_quantity
from hanse.kube.runtime import parse_timestamp

TOLERANCE = 0.1

_CPU_INITIALIZATION_SECONDS = 300.0
_INITIAL_READINESS_SECONDS = 30.0


class NoProposal(Exception):
    """A metric from which no number of replicas follows; the text says why."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What one pod uses of a resource, in thousandths of its unit; measured over a window that ended at a time."""

    value: int
    measured: float = 0.0
    window: float = 0.0


@dataclass(frozen=True, slots=True)
class Target:
    """What an autoscaler aims at: a share of what pods request, or an amount a pod; one of them is given."""

    resource: str
    container: str = ""
    utilization: int | None = None
    average: int | None = None
    up_tolerance: float = TOLERANCE
    down_tolerance: float = TOLERANCE


@dataclass(frozen=True, slots=True)
class Proposal:
    """How many replicas a metric asks for, and what is used now."""

    replicas: int
    current: Obj


@dataclass(frozen=True, slots=True)
class _Groups:
    ready: int
    unready: frozenset[str]
    missing: frozenset[str]
    ignored: frozenset[str]


def milli(quantity: str | float) -> int:
    """Return a quantity in thousandths of its unit, rounded up."""
    return math.ceil(parse_quantity(quantity) * 1000)


def propose(target: Target, pods: Sequence[Obj], usage: Mapping[str, Usage], current: int, now: float) -> Proposal:
    """Return how many replicas a resource's use asks for; raises NoProposal."""
    if not pods:
        raise NoProposal("no pods returned by selector while calculating replica count")
    groups = _group(target.resource, pods, usage, now)
    measured = {name: entry.value for name, entry in usage.items() if name not in groups.ignored | groups.unready}
    if not measured:
        raise NoProposal("did not receive metrics for targeted pods (pods might be unready)")
    requests = _requests(target, pods) if target.average is None else {}
    ratio, shown = _ratio(target, measured, requests)
    growing_unready = bool(groups.unready) and ratio > 1.0
    if not growing_unready and not groups.missing:
        return Proposal(current if _tolerable(target, ratio) else math.ceil(ratio * groups.ready), shown)
    assumed = dict(measured)
    if ratio != 1.0:
        assumed |= {name: _assumption(target, requests.get(name, 0), ratio) for name in groups.missing}
    if growing_unready:
        assumed |= dict.fromkeys(groups.unready, 0)
    doubted, _ = _ratio(target, assumed, requests)
    if _tolerable(target, doubted) or (ratio < 1.0 < doubted) or (doubted < 1.0 < ratio):
        return Proposal(current, shown)
    wanted = math.ceil(doubted * len(assumed))
    turns = (doubted < 1.0 and wanted > current) or (doubted > 1.0 and wanted < current)
    return Proposal(current if turns else wanted, shown)


def _tolerable(target: Target, ratio: float) -> bool:
    return 1.0 - target.down_tolerance <= ratio <= 1.0 + target.up_tolerance


def _assumption(target: Target, request: int, ratio: float) -> int:
    """Return what a pod without a metric is taken to use."""
    if ratio > 1.0:
        return 0
    if target.average is not None:
        return target.average
    return request * max(100, target.utilization or 0) // 100


def _ratio(target: Target, measured: Mapping[str, int], requests: Mapping[str, int]) -> tuple[float, Obj]:
    """Return how far use is from the target, and what is used, as the status shows it."""
    if target.average is not None:
        average = sum(measured.values()) // len(measured)
        return average / target.average, {"averageValue": _quantity(target.resource, average)}
    known = {name: value for name, value in measured.items() if name in requests}
    requested = sum(requests[name] for name in known)
    if not requested:
        raise NoProposal("no metrics returned matched known pods")
    share = sum(known.values()) * 100 // requested
    average = sum(known.values()) // len(known)
    shown = {"averageUtilization": share, "averageValue": _quantity(target.resource, average)}
    return share / (target.utilization or 1), shown


def _quantity(resource: str, value: int) -> str:
    if resource == "memory" and value % 1000 == 0:
        return format_quantity(value // 1000, "binary")
    return format_quantity(parse_quantity(f"{value}m"))


def _group(resource: str, pods: Sequence[Obj], usage: Mapping[str, Usage], now: float) -> _Groups:
    unready, missing, ignored = set(), set(), set()
    for pod in pods:
        phase = dig(pod, "status", "phase", default="Pending")
        if is_deleting(pod) or phase == "Failed":
            ignored.add(name_of(pod))
        elif phase == "Pending":
            unready.add(name_of(pod))
        elif name_of(pod) not in usage:
            missing.add(name_of(pod))
        elif resource == "cpu" and _is_warming_up(pod, usage[name_of(pod)], now):
            unready.add(name_of(pod))
    ready = len(pods) - len(unready) - len(missing) - len(ignored)
    return _Groups(ready, frozenset(unready), frozenset(missing), frozenset(ignored))


def _is_warming_up(pod: Obj, usage: Usage, now: float) -> bool:
    """Tell whether what a pod uses of the processor still says nothing of its load."""
    ready = find_condition(dig(pod, "status", "conditions"), "Ready")
    started = dig(pod, "status", "startTime")
    if ready is None or started is None:
        return True
    since = parse_timestamp(ready["lastTransitionTime"]) if ready.get("lastTransitionTime") else 0.0
    begun = parse_timestamp(started)
    if begun + _CPU_INITIALIZATION_SECONDS > now:
        return ready.get("status") == "False" or usage.measured < since + usage.window
    return ready.get("status") == "False" and begun + _INITIAL_READINESS_SECONDS > since


def _requests(target: Target, pods: Sequence[Obj]) -> dict[str, int]:
    return {name_of(pod): _request(target, pod) for pod in pods}


def _request(target: Target, pod: Obj) -> int:
    spec = pod["spec"]
    sidecars = [entry for entry in spec.get("initContainers") or () if entry.get("restartPolicy") == "Always"]
    chosen = [entry for entry in (*spec["containers"], *sidecars) if target.container in ("", entry["name"])]
    if not chosen:
        raise NoProposal(f"container {target.container} not found in Pod {name_of(pod)}")
    total = 0
    for container in chosen:
        asked = dig(container, "resources", "requests", target.resource)
        if asked is None:
            place = f"in container {container['name']} of Pod {name_of(pod)}"
            raise NoProposal(f"missing request for {target.resource} {place}")
        total += milli(asked)
    return total
