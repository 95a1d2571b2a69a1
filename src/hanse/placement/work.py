"""One piece of work in front of one fleet: the question that every step of a decision looks at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from hanse.placement.ask import ByCapacity, ByFreeCapacity, Placement, State
from hanse.placement.candidate import Amounts
from hanse.placement.fleet import Fleet

Tell = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Refused:
    """Clusters that a step left out, and the sentence for each; `keep` leaves alone what they may hold."""

    clusters: int
    tell: Tell
    keep: bool = False


@dataclass(frozen=True)
class Work:
    """What is to be placed: `replicas` is None for kinds without, `key` breaks ties."""

    fleet: Fleet
    placement: Placement
    replicas: int | None = None
    state: State = field(default_factory=State)
    key: str = ""

    @cached_property
    def held(self) -> dict[int, int]:
        """What each registered cluster holds, by its slot."""
        slots = ((self.fleet.slot(name), count) for name, count in self.state.current.items())
        return {slot: count for slot, count in slots if slot is not None}

    @cached_property
    def holders(self) -> int:
        """The clusters that have a copy, be it without replicas."""
        return sum(1 << slot for slot in self.held)

    @cached_property
    def hashes(self) -> tuple[int, ...]:
        """What breaks ties, for every cluster."""
        return self.fleet.hashes(self.key)

    @cached_property
    def requests(self) -> Amounts | None:
        """What one replica needs; a division by capacity counts pods where nothing else is said."""
        asked = self.placement.requests
        if asked is None and isinstance(self.placement.division, ByCapacity | ByFreeCapacity):
            return {"pods": 1000}
        return asked

    @cached_property
    def rooms(self) -> Sequence[int | None] | None:
        """How many replicas each cluster can hold in all, None where that is not known; None if nobody asked."""
        requests, estimated = self.requests, self.state.estimated
        if requests is None and not estimated:
            return None
        rooms: list[int | None] = [None] * len(self.fleet)
        if requests is not None:
            held = self.held
            rooms = [held.get(slot, 0) + (free or 0) for slot, free in enumerate(self.fleet.fits(requests, free=True))]
        for name, count in estimated.items():
            place = self.fleet.slot(name)
            if place is not None:
                room = rooms[place]
                rooms[place] = count if room is None else min(room, count)
        return rooms
