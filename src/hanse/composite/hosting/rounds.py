"""The rounds that every lambda controller makes: whose turn it is, how failures are told, and what is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from functools import partial
from typing import NamedTuple, Protocol

from hanse.composite.hooks.calling import HookBusy, HookFailed
from hanse.composite.hosting.parents import matters, owners_of
from hanse.composite.hosting.place import Kinds, Place
from hanse.composite.hosting.shelf import Kept
from hanse.composite.hosting.telling import Teller
from hanse.composite.settling import Settling
from hanse.composite.spec import ControllerSpec, ParentRule, Sort
from hanse.kube.cache import Change
from hanse.kube.controller import Controller
from hanse.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Gone,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from hanse.kube.manifest import Key, Obj, annotations_of, controller_of, dig, labels_of, uid_of
from hanse.kube.resources import Resource

# A parent waits most of the time, for its hook or for the server, which stores many writes as fast as one.
_WORKERS = 16


class SyncProblem(Exception):
    """Why nothing follows from an answer; a sentence."""


class Root(NamedTuple):
    """One parent, or one decorated object."""

    kind: Resource
    key: Key

    def __str__(self) -> str:
        return f"{self.kind.plural}/{self.key}"


class Syncing(Protocol):
    """What differs between the three sorts of controllers."""

    def concerns(self, root: Root, obj: Obj) -> bool:
        """Tell whether the controller has anything to do with an object."""

    async def sync(self, root: Root, obj: Obj) -> float | None:
        """Have the children be what the hook says; returns in how many seconds to look again.

        Raises SyncProblem, HookFailed and HookBusy.
        """

    def forget(self, root: Root, uid: str) -> None:
        """Drop what is remembered of an object that is gone."""


class Rounds:
    """Syncs every object that a controller is for, whenever something about it changed."""

    def __init__(self, spec: ControllerSpec, kinds: Kinds, place: Place, syncing: Syncing) -> None:
        self.settling = Settling()
        self.teller = Teller(place.client, place.events, place.manners)
        self.parents: dict[Resource, Kept] = {}
        self.children: dict[Resource, Kept] = {}
        self._spec = spec
        self._kinds = kinds
        self._place = place
        self._syncing = syncing
        self._rules = dict(zip(kinds.parents, spec.parents, strict=True))
        self._uids: dict[Root, str] = {}
        name = f"{spec.sort} {spec.name}"
        self._loop: Controller[Root] = Controller(name, self._reconcile, place.client.runtime, workers=_WORKERS)

    async def follow(self, stack: AsyncExitStack) -> None:
        """Take hold of everything that the controller follows, for as long as the stack is open."""
        for kinds, kept in ((self._kinds.parents, self.parents), (self._kinds.children, self.children)):
            for kind in kinds:
                kept[kind] = await stack.enter_async_context(self._place.shelf.lend(kind))

    async def run(self, stack: AsyncExitStack, orphaned: Callable[[Obj], Iterable[Root]] = lambda _orphan: ()) -> None:
        """Sync until cancelled; `orphaned` says whose a child could be that nobody controls."""
        for kind, kept in self.parents.items():
            stack.callback(kept.cache.subscribe(partial(self._parent_changed, kind)))
        for kept in self.children.values():
            stack.callback(kept.cache.subscribe(partial(self._child_changed, orphaned)))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._loop.run())
            if self._spec.resync_seconds is not None:
                tasks.create_task(self._resync(self._spec.resync_seconds))

    @property
    def objects(self) -> int:
        """How many objects the controller looks after."""
        return len(self._uids)

    @property
    def waiting(self) -> int:
        """How many objects are to be looked at as soon as can be."""
        return len(self._loop.queue)

    def add(self, kind: Resource, key: Key) -> None:
        """Have an object synced."""
        self._loop.queue.add(Root(kind, key))

    def is_due(self, root: Root) -> bool:
        """Tell whether something changed about an object since its sync began, so that the next one follows at once."""
        return self._loop.queue.is_due(root)

    def matches(self, root: Root, obj: Obj) -> bool:
        """Tell whether an object is one of those that the controller is for."""
        rule: ParentRule = self._rules[root.kind]
        return rule.labels.matches(labels_of(obj)) and rule.annotations.matches(annotations_of(obj))

    async def _resync(self, seconds: float) -> None:
        while True:
            await self._place.client.runtime.sleep(seconds)
            for kind, kept in self.parents.items():
                for key in kept.cache:
                    self.add(kind, key)

    def _parent_changed(self, kind: Resource, change: Change) -> None:
        if matters(change, ignore_status=self._rules[kind].ignore_status_changes):
            self.add(kind, change.key)

    def _child_changed(self, orphaned: Callable[[Obj], Iterable[Root]], change: Change) -> None:
        for kind in self.parents:
            for key in owners_of(change, kind):
                self.add(kind, key)
        child = change.new
        if child is not None and controller_of(child) is None:
            for root in orphaned(child):
                self._loop.queue.add(root)

    async def _reconcile(self, root: Root) -> float | None:
        obj = self.parents[root.kind].cache.get(root.key)
        if obj is None or uid_of(obj) != self._uids.get(root) or not self._syncing.concerns(root, obj):
            self._forget(root)
        if obj is None or not self._syncing.concerns(root, obj):
            return None
        self._uids[root] = uid_of(obj)
        resting = self.settling.resting(uid_of(obj), generation_of(obj), self._place.client.runtime.now())
        if resting is not None:
            await self._fail(root, obj, resting.sentence)
            return resting.seconds
        try:
            return await self._syncing.sync(root, obj)
        except HookBusy as busy:
            return busy.seconds
        except (HookFailed, SyncProblem) as error:
            raise await self._fail(root, obj, str(error)) from error
        except ApiError as error:
            if not _is_refusal(error):
                raise
            raise await self._fail(root, obj, f"the server does not take what is to be written: {error}") from error

    async def _fail(self, root: Root, obj: Obj, sentence: str) -> Exception:
        # Whose status it is, others say of a decorated object.
        in_status = self._spec.sort is not Sort.DECORATOR
        return await self.teller.fail(root.kind, obj, sentence, in_status=in_status)

    def _forget(self, root: Root) -> None:
        uid = self._uids.pop(root, None)
        if uid is not None:
            self.settling.forget(uid)
            self.teller.forget(uid)
            self._syncing.forget(root, uid)


def _is_refusal(error: ApiError) -> bool:
    """Tell whether the server would say the same again, so that somebody has to be told of it."""
    passing = (Unauthorized, NotFound, Conflict, AlreadyExists, Gone, TooManyRequests, ServerError)
    return not isinstance(error, passing)


def generation_of(obj: Obj) -> int:
    """Return how often somebody changed what an object asks for."""
    return int(dig(obj, "metadata", "generation", default=0))
