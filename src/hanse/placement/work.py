"""One piece of work in front of one fleet: the question that every step of a decision looks at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from hanse.placement.ask import ByCapacity, ByFreeCapacity, Placement, State
from hanse.placement.candidate import Amounts
from hanse.placement.fleet import Fleet

Tell = Callable[[int], str]

# The last bytes of a key hardly reach the upper bits of FNV-1; a few more rounds carry them there.
_MIXED = "\0" * 4
# Whatever moved because a cluster came back has moved by then.
_LATELY_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Refused:
    """Clusters that a step left out, and the sentence for each.

    `keep` leaves alone what they may hold; `unwanted` are clusters that could have the work, had it been asked for.
    """

    clusters: int
    tell: Tell
    keep: bool = False
    unwanted: bool = False


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
    def returning(self) -> int:
        """The clusters that came back too short a while ago to be given their share again."""
        failover, returned = self.placement.failover, self.fleet.returned
        if not returned or self.replicas is None or failover.after_seconds is None:
            return 0
        return sum(1 << slot for slot in self.fleet.slots(returned) if self._only_just_returned(slot))

    @cached_property
    def disturbed(self) -> bool:
        """Whether a cluster is lost, or came back lately, so that work moves by itself."""
        if self.fleet.refused or self.state.refusals:
            return True
        back = (self.fleet[slot].returned or 0.0 for slot in self.fleet.slots(self.fleet.returned))
        return any(self.state.now < moment + _LATELY_SECONDS for moment in back)

    def _only_just_returned(self, slot: int) -> bool:
        # Clocks that differ by a little are put up with. What is further ahead was told by a clock that has been set
        # back since, and would keep the cluster out for as long as that was wrong.
        told_ahead = (self.fleet[slot].returned or 0.0) - self.state.now
        return told_ahead <= self.placement.failover.fail_back_after and self.state.now < self.steady_from(slot)

    def steady_from(self, slot: int) -> float:
        """Return the moment from which a cluster that came back counts like any other."""
        return (self.fleet[slot].returned or 0.0) + self.placement.failover.fail_back_after

    @property
    def unestimated(self) -> Work:
        """The same work without what clusters turned out to hold."""
        return replace(self, state=replace(self.state, estimated={}))

    @cached_property
    def hashes(self) -> tuple[int, ...]:
        """What breaks ties as federation v1 did, for every cluster."""
        return self.fleet.hashes(self.key)

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """What breaks all other ties: evenly, also among workloads whose names differ in the last letter only."""
        return self.fleet.hashes(self.key + _MIXED)

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
            rooms = [self._room(slot, free) for slot, free in enumerate(self.fleet.fits(requests, free=True))]
            for name, taken in self.state.promised.items():
                slot = self.fleet.slot(name)
                if slot is not None:
                    rooms[slot] = self._room(slot, self.fleet.fits_beside(slot, requests, taken))
        for name, count in estimated.items():
            place = self.fleet.slot(name)
            if place is not None:
                room = rooms[place]
                rooms[place] = count if room is None else min(room, count)
        return rooms

    def _room(self, slot: int, free: int | None) -> int | None:
        if free is None and self.placement.untold_room:
            return None
        return self.held.get(slot, 0) + (free or 0)
