"""Where a member is, what it can hold and what is left of that: pure, read off its nodes and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import msgspec

from hanse.api.admiralty.nodes import is_virtual
from hanse.api.names import REGION_LABEL, ZONE_LABEL
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, dig, labels_of
from hanse.kube.quantities import format_quantity, parse_quantity

_CAPACITY = ("cpu", "memory", "pods")
# What is left is told anew when it has changed by this share of the whole: a number that moves with every pod would be
# written for ever, and nobody decides on less.
_NOTEWORTHY = Decimal("0.05")

Amounts = Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class Topology:
    """A member's region, zones, ready nodes and their capacity, and what those that take pods can hold."""

    region: str = ""
    zones: tuple[str, ...] = ()
    nodes: int = 0
    capacity: tuple[tuple[str, str], ...] = ()
    schedulable: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """What the pods on a member's nodes ask for."""

    amounts: Amounts = field(default_factory=dict)

    def plus(self, other: Demand) -> Demand:
        """Return both together."""
        names = self.amounts.keys() | other.amounts.keys()
        return Demand({name: self.amounts.get(name, _NONE) + other.amounts.get(name, _NONE) for name in names})


_NONE = Decimal(0)


class _Requests(msgspec.Struct, gc=False):
    requests: dict[str, Any] | None = None


class _Container(msgspec.Struct, gc=False):
    resources: _Requests | None = None
    restart: str = msgspec.field(default="", name="restartPolicy")


class _PodSpec(msgspec.Struct, gc=False):
    containers: list[_Container] = msgspec.field(default_factory=list)
    init: list[_Container] | None = msgspec.field(default=None, name="initContainers")
    overhead: dict[str, Any] | None = None


class _Pod(msgspec.Struct, gc=False):
    spec: _PodSpec


_pods = msgspec.json.Decoder(_Pod)


def read_topology(nodes: Iterable[Obj]) -> Topology:
    """Sum up the ready nodes; region and zones come from all of them. Virtual nodes count where they really are."""
    everyone = [node for node in nodes if not is_virtual(node)]
    ready = [node for node in everyone if is_true(dig(node, "status", "conditions"), "Ready")]
    open_ones = [node for node in ready if not dig(node, "spec", "unschedulable", default=False)]
    zones = {labels_of(node)[ZONE_LABEL] for node in everyone if ZONE_LABEL in labels_of(node)}
    regions = sorted({labels_of(node)[REGION_LABEL] for node in everyone if REGION_LABEL in labels_of(node)})
    return Topology(
        region=regions[0] if regions else "",
        zones=tuple(sorted(zones)),
        nodes=len(ready),
        capacity=_allocatable(ready),
        schedulable=_allocatable(open_ones),
    )


def read_demand(pods: Iterable[Any]) -> Demand:
    """Add up what pods, still as JSON, ask for: the larger of what runs for long and of the largest step before it."""
    totals = dict.fromkeys(_CAPACITY, _NONE)
    for raw in pods:
        spec = _pods.decode(raw).spec
        totals["pods"] += 1
        beside = [each for each in spec.init or () if each.restart == "Always"]
        steps = [each for each in spec.init or () if each.restart != "Always"]
        for name in ("cpu", "memory"):
            lasting = sum((_request(each, name) for each in [*spec.containers, *beside]), _NONE)
            largest = max((_request(each, name) for each in steps), default=_NONE)
            totals[name] += max(lasting, largest) + _amount((spec.overhead or {}).get(name, "0"))
    return Demand(totals)


def free_capacity(topology: Topology, demand: Demand, told: Mapping[str, str]) -> dict[str, str]:
    """Return what is left; what was told before stays while it is near enough and both are, or are not, nothing."""
    free = {}
    for name, whole in topology.schedulable:
        left = max(_NONE, parse_quantity(whole) - demand.amounts.get(name, _NONE))
        before = _amount(told[name]) if name in told else None
        near = before is not None and abs(left - before) <= parse_quantity(whole) * _NOTEWORTHY
        free[name] = told[name] if near and bool(left) == bool(before) else format_quantity(left)
    return free


def _allocatable(nodes: list[Obj]) -> tuple[tuple[str, str], ...]:
    capacity = {}
    for name in _CAPACITY:
        amounts = [_amount(dig(node, "status", "allocatable", name, default="0")) for node in nodes]
        if any(amounts):
            capacity[name] = format_quantity(sum(amounts[1:], amounts[0]))
    return tuple(capacity.items())


def _request(container: _Container, name: str) -> Decimal:
    requests = container.resources.requests if container.resources else None
    return _amount(requests[name]) if requests and name in requests else _NONE


def _amount(text: object) -> Decimal:
    try:
        return parse_quantity(str(text))
    except ValueError:
        # One node that says nonsense must not hide all that its cluster has.
        return Decimal(0)
