"""Stops changes that reach too far: nothing leaves a cluster before every object was looked at in the same world.

The guard knows of every source of one front door what it would take away. While that is too much, nothing is taken,
and a HeldChange on the host says so until a person approves it or the change is undone. All that is in memory here is
worked out again after a start; the approval is in the object.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from hanse.api.held_changes import HELD_CHANGES, held_change
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import NotFound
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Key, Obj, dig
from hanse.propagation.blast import BlastTerms, Change, change_spec, held_sentence, is_approved, too_far
from hanse.propagation.intent import Ref

# Counts settle within moments while a change is being worked out; they are written once.
_SETTLE_SECONDS = 1.0


class Guard(Protocol):
    """Says whether objects of a front door may leave clusters."""

    @property
    def sentence(self) -> str:
        """What is told of an object that may not leave now, "" while that is only being worked out."""

    def expect(self, refs: Iterable[Ref]) -> None:
        """Let nothing leave before these objects have been judged: the world has changed for them."""

    def judge(self, ref: Ref, leaving: frozenset[str] | None) -> bool:
        """Note which clusters an object would leave, None while that cannot be told; says whether it may."""

    def forget(self, ref: Ref) -> None:
        """Leave an object out that is gone, or that nobody wants to be anywhere."""

    async def run(self) -> None:
        """Work until cancelled."""

    async def wait_synced(self) -> None:
        """Wait until it is known what was approved."""


class Unguarded:
    """Lets objects leave, as soon as it can be told which clusters, where many do at once as a matter of course."""

    sentence = ""

    def expect(self, refs: Iterable[Ref]) -> None:
        """Wait for nobody."""

    def judge(self, ref: Ref, leaving: frozenset[str] | None) -> bool:
        """Say that an object may leave, unless it cannot be told what."""
        return leaving is not None

    def forget(self, ref: Ref) -> None:
        """Remember nothing."""

    async def run(self) -> None:
        """Have nothing to do."""

    async def wait_synced(self) -> None:
        """Have nothing to wait for."""


class BlastGuard:
    """Lets objects leave clusters, unless too many would at once."""

    def __init__(
        self, host: Client, door: str, look_again: Callable[[Ref], None], terms: BlastTerms | None = None
    ) -> None:
        """`look_again` is called with each object that may leave now and could not before."""
        self._host = host
        self._door = door
        self._look_again = look_again
        self._terms = terms or BlastTerms()
        self._known: set[Ref] = set()
        self._unjudged: set[Ref] = set()
        self._leaving: dict[Ref, frozenset[str]] = {}
        self._held = Cache(host, HELD_CHANGES)
        self._events = EventRecorder(host, "hanse")
        self._controller: Controller[str] = Controller("held changes", self._reconcile, host.runtime, workers=1)

    @property
    def sentence(self) -> str:
        """What is told of an object that may not leave now, "" while that is only being worked out."""
        return "" if self._unjudged else held_sentence(self._door)

    def expect(self, refs: Iterable[Ref]) -> None:
        """Let nothing leave before these objects have been judged: the world has changed for them."""
        self._unjudged.update(refs)

    def judge(self, ref: Ref, leaving: frozenset[str] | None) -> bool:
        """Note which clusters an object would leave, None while that cannot be told; says whether it may."""
        self._known.add(ref)
        if leaving is None:
            self._unjudged.add(ref)
            return False
        before = self._leaving.pop(ref, None)
        if leaving:
            self._leaving[ref] = leaving
        self._judged(ref, news=before != (leaving or None))
        return not leaving or not self._holds()

    def forget(self, ref: Ref) -> None:
        """Leave an object out that is gone, or that nobody wants to be anywhere."""
        self._known.discard(ref)
        self._judged(ref, news=self._leaving.pop(ref, None) is not None)

    async def run(self) -> None:
        """Keep the HeldChange true until cancelled."""
        self._held.subscribe(lambda _change: self._decide_again())
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._held.run())
            tasks.create_task(self._controller.run())

    async def wait_synced(self) -> None:
        """Wait until it is known what was approved."""
        await self._held.wait_synced()

    def _judged(self, ref: Ref, *, news: bool) -> None:
        was_open = ref in self._unjudged
        self._unjudged.discard(ref)
        if not self._unjudged and (was_open or news):
            self._decide_again()

    def _decide_again(self) -> None:
        self._controller.queue.add_after(self._door, _SETTLE_SECONDS)

    def _change(self) -> Change | None:
        return too_far(self._leaving, len(self._known), self._terms)

    def _holds(self) -> bool:
        if self._unjudged:
            return True
        change = self._change()
        return change is not None and not is_approved(change, self._found())

    def _found(self) -> Obj | None:
        return self._held.get(Key("", self._door))

    async def _reconcile(self, door: str) -> float | None:
        if self._unjudged:
            # The last of them to be judged brings this back.
            return None
        change, found = self._change(), self._found()
        if change is not None and not is_approved(change, found):
            await self._tell(change, found)
            return None
        for ref in self._leaving:
            self._look_again(ref)
        if found is not None and not self._leaving:
            await self._withdraw(door)
        return None

    async def _tell(self, change: Change, found: Obj | None) -> None:
        spec = change_spec(change)
        if found is not None and dig(found, "spec") == spec:
            return
        if found is None:
            written = await self._host.create(HELD_CHANGES, held_change(self._door, spec))
        else:
            written = await self._host.update(HELD_CHANGES, {**found, "spec": spec})
        self._held.remember(written)
        text = f"{change}; `hanse approve {self._door}` lets it go on, undoing what caused it ends it"
        await self._events.record(HELD_CHANGES.name_kind(written), "ChangeHeld", text, warning=True)

    async def _withdraw(self, door: str) -> None:
        try:
            await self._host.delete(HELD_CHANGES, door)
        except NotFound:
            return
