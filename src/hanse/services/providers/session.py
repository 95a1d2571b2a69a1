"""One zone being published: its provider, what the zone has, and carrying plans out.

What the zone has is listed once and then kept by one's own changes, since every change demands of the server that the
zone is as it was taken to be. It is listed again after every failure, and now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from hanse.kube.manifest import Key
from hanse.kube.runtime import Runtime
from hanse.services.providers.interface import Provider, ProviderError, Refused, Stale
from hanse.services.providers.publishing import Conflict, Plan, Step, Wanted, batches
from hanse.services.providers.zone_view import ZoneView

# Somebody else who writes at the same time is met again, but not for ever.
_ATTEMPTS = 4
# A server that refuses this many names refuses them all.
_MOST_REFUSALS = 10


class Deposed(ProviderError):
    """This process no longer leads, and so writes nothing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a plan: what it was, what of it was to be done, and what of that the server would not have."""

    plan: Plan
    steps: tuple[Step, ...] = ()
    refused: tuple[Conflict, ...] = ()

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Everything that stands in the way of a name."""
        return (*self.plan.conflicts, *self.refused)

    @property
    def unsettled(self) -> set[Key]:
        """The services that must be looked at again: something is in their way, or waits for a person."""
        done = set(map(id, self.steps))
        waiting = {step.service for step in self.plan.departures if id(step) not in done}
        return waiting | {each.service for each in self.conflicts}


@dataclass(slots=True)
class Session:
    """A provider at work."""

    zone: str
    provider: Provider
    runtime: Runtime
    leads: Callable[[], bool]
    owner: str
    generation: int
    resync_seconds: float
    # What the zone was seen to have last, by an earlier session perhaps: nothing is done by it, but told.
    seen: ZoneView | None = None
    view: ZoneView | None = None
    listed_at: float = 0.0
    # What the zone is known to have of each service; None until a plan for all that was listed is carried out.
    settled: Wanted | None = None
    # What was about to be done when something failed.
    pending: tuple[Step, ...] = ()

    def due(self) -> float:
        """Return the seconds until the zone is to be listed again."""
        return max(0.0, self.listed_at + self.resync_seconds - self.runtime.monotonic())

    async def look(self) -> ZoneView:
        """Return what the zone has, listed anew where that is not known or was too long ago."""
        if self.view is None or not self.due():
            self.view = None
            records = await self.provider.records()
            self.view = self.seen = ZoneView(records)
            self.settled = None
            self.listed_at = self.runtime.monotonic()
        return self.view

    async def carry_out(self, decide: Callable[[ZoneView], tuple[Plan, Sequence[Step]]]) -> Outcome:
        """Do what `decide` says of the zone; on news from elsewhere it is asked again."""
        for _ in range(_ATTEMPTS):
            try:
                view = await self.look()
            except ProviderError:
                self.pending = tuple(decide(self.seen)[1]) if self.seen is not None else ()
                raise
            # Deciding on a large zone takes a while, in which others shall not wait.
            plan, steps = await self.runtime.in_thread(partial(decide, view))
            self.pending = tuple(steps)
            try:
                refused = await self._apply_all(steps)
            except Stale:
                self.view, self.settled = None, None
                continue
            except ProviderError:
                # Whether the last batch arrived is not known.
                self.view, self.settled = None, None
                raise
            done, self.pending = self.pending, ()
            return Outcome(plan, done, tuple(refused))
        raise ProviderError("somebody else changes the zone as often as it is read")

    async def _apply_all(self, steps: Iterable[Step]) -> list[Conflict]:
        refused: list[Conflict] = []
        for batch in batches(steps, self.provider.largest_batch):
            await self._apply(batch, refused)
        return refused

    async def _apply(self, steps: Sequence[Step], refused: list[Conflict]) -> None:
        """Apply a batch; one that is refused is tried in halves, so that one bad name holds up no other."""
        if not self.leads():
            raise Deposed("this process no longer leads, so it publishes nothing")
        changes = [change for step in steps for change in step.changes]
        try:
            await self.provider.apply(changes)
        except Refused as error:
            if len(refused) >= _MOST_REFUSALS:
                raise ProviderError(str(error)) from error
            if len(steps) == 1:
                refused.append(Conflict(steps[0].name, steps[0].service, f"is not taken: {error}"))
                return
            middle = len(steps) // 2
            await self._apply(steps[:middle], refused)
            await self._apply(steps[middle:], refused)
        else:
            if self.view is not None:
                self.view.take(changes)
