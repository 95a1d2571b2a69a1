"""From what runs to what is planned without losing a healthy replica on the way.

Growth happens at once. A cluster shrinks only by replicas that are not available anyway, and by the surplus that the
federation has beyond what the user asked for, so that new places are seen ready before old ones give up theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Holding:
    """What a cluster is known to hold: the replicas asked of it and those available."""

    replicas: int
    available: int


def next_replicas(wanted: int, planned: Mapping[str, int], held: Mapping[str, Holding]) -> dict[str, int]:
    """Return how many replicas each cluster shall be asked for now.

    `wanted` is what the user asked of the federation, `planned` where they shall be in the end, `held` what the
    clusters that answer hold. A cluster that holds replicas but is not planned is planned at 0.
    """
    surplus = sum(min(holding.available, holding.replicas) for holding in held.values()) - wanted
    result: dict[str, int] = {}
    for name in sorted(planned.keys() | held.keys()):
        target = planned.get(name, 0)
        holding = held.get(name)
        if holding is None or target >= holding.replicas:
            result[name] = target
            continue
        excess = holding.replicas - target
        idle = max(0, holding.replicas - holding.available)
        released = min(excess, idle + max(0, surplus))
        surplus -= max(0, released - idle)
        result[name] = holding.replicas - released
    return result
