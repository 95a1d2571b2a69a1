"""From what runs to what is planned without losing a healthy replica on the way.

Growth happens at once. A cluster shrinks only by replicas that are not available anyway, and by the surplus that the
federation has beyond what the user asked for, so that new places are seen ready before old ones give up theirs. What
must never run twice goes the other way round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
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


def next_replicas_at_most(
    wanted: int, planned: Mapping[str, int], held: Mapping[str, Holding], running: Mapping[str, int]
) -> dict[str, int]:
    """Return how many replicas each cluster shall be asked for now, so that never more run than are wanted.

    Clusters shrink at once, and others grow only by what has ended there; `running` is all that each still runs.
    """
    names = sorted(planned.keys() | held.keys())
    asked = {name: held[name].replicas if name in held else 0 for name in names}
    result = {name: min(asked[name], planned.get(name, 0)) for name in names}
    # Pods that are still ending run; they count until their cluster no longer tells of them.
    room = max(0, wanted - sum(max(result[name], running.get(name, 0)) for name in names))
    for name in names:
        more = min(room, planned.get(name, 0) - result[name])
        result[name] += more
        room -= more
    return result


def may_leave(chosen: Collection[str], copies: Mapping[str, bool]) -> set[str]:
    """Return the clusters that may give up their copy of an object without replicas.

    `copies` says of every cluster that has one whether it is well. All that were chosen have theirs, and it is well,
    before one of the others goes; a copy that is not well serves nobody and may go at any time.
    """
    held = {name: Holding(1, 1 if well else 0) for name, well in copies.items()}
    counts = next_replicas(len(chosen), dict.fromkeys(chosen, 1), held)
    return {name for name in copies if not counts[name]}
