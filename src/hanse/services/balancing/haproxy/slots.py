"""The places for servers in an HAProxy backend.

A backend has more places than servers, so that a cluster is added, drained and removed by commands to the running
process; only a backend that outgrows its places needs a new one. Whoever leaves a place keeps it until another needs
it: a cluster that comes back finds its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hanse.services.balancing.lines import Line, Target

_FEWEST = 8


@dataclass(frozen=True, slots=True)
class Slot:
    """One place: whose it is or was, and whether connections are led there."""

    address: str = ""
    port: int = 0
    weight: int = 0
    # A closed place gets no connections and is not checked; those that it has go on.
    open: bool = False


@dataclass(frozen=True, slots=True)
class Seated:
    """A line with its servers in their places."""

    line: Line
    slots: tuple[Slot, ...]


def seat(line: Line, before: Sequence[Slot] = ()) -> Seated:
    """Give each target of a line a place, those that it had before to those that had one."""
    slots = [replace(slot, open=False, weight=0) for slot in before]
    known = {(slot.address, slot.port): index for index, slot in reversed(list(enumerate(slots)))}
    newcomers: list[Target] = []
    for target in line.targets:
        index = known.get((target.address, target.port))
        if index is None:
            newcomers.append(target)
        else:
            slots[index] = _taken_by(target)
    slots += [Slot()] * (_places(len(line.targets)) - len(slots) if _is_full(slots, newcomers) else 0)
    for index, target in zip(_free(slots), newcomers, strict=False):
        slots[index] = _taken_by(target)
    return Seated(line, tuple(slots))


def _taken_by(target: Target) -> Slot:
    return Slot(target.address, target.port, target.weight, open=True)


def _places(servers: int) -> int:
    """Return how many places a backend of so many servers begins with: as many again are free, and at least four."""
    return max(_FEWEST, 2 * servers)


def _is_full(slots: Sequence[Slot], newcomers: Sequence[Target]) -> bool:
    return sum(not slot.open for slot in slots) < len(newcomers) or not slots


def _free(slots: Sequence[Slot]) -> Iterable[int]:
    """Return the closed places, those that nobody had before first: a place that was left may have connections yet."""
    closed = [index for index, slot in enumerate(slots) if not slot.open]
    return sorted(closed, key=lambda index: (bool(slots[index].address), index))
