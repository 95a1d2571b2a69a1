"""Where a member is and what it can hold, read off its nodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from hanse.api.names import REGION_LABEL, ZONE_LABEL
from hanse.kube.conditions import is_true
from hanse.kube.manifest import Obj, dig, labels_of
from hanse.kube.quantities import format_quantity, parse_quantity

_CAPACITY = ("cpu", "memory", "pods")


@dataclass(frozen=True, slots=True)
class Topology:
    """A member's region, zones, ready nodes and their capacity."""

    region: str = ""
    zones: tuple[str, ...] = ()
    nodes: int = 0
    capacity: tuple[tuple[str, str], ...] = ()


def read_topology(nodes: Iterable[Obj]) -> Topology:
    """Sum up the ready nodes; region and zones come from all of them."""
    everyone = list(nodes)
    ready = [node for node in everyone if is_true(dig(node, "status", "conditions"), "Ready")]
    zones = {labels_of(node)[ZONE_LABEL] for node in everyone if ZONE_LABEL in labels_of(node)}
    regions = sorted({labels_of(node)[REGION_LABEL] for node in everyone if REGION_LABEL in labels_of(node)})
    capacity = {}
    for name in _CAPACITY:
        amounts = [_amount(dig(node, "status", "allocatable", name, default="0")) for node in ready]
        if any(amounts):
            capacity[name] = format_quantity(sum(amounts[1:], amounts[0]))
    return Topology(regions[0] if regions else "", tuple(sorted(zones)), len(ready), tuple(capacity.items()))


def _amount(text: object) -> Decimal:
    try:
        return parse_quantity(str(text))
    except ValueError:
        # One node that says nonsense must not hide all that its cluster has.
        return Decimal(0)
