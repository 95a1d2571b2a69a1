"""The source objects on the host: one cache a kind, of kinds that come and go while the engine runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from hanse.api.names import FINALIZER
from hanse.kube.cache import Cache, Change, Handler
from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key, Obj, finalizers_of
from hanse.kube.resources import Resource
from hanse.propagation.intent import Ref

_LOOK_SECONDS = 0.2


class Sources:
    """What the host has of the followed kinds."""

    def __init__(
        self,
        host: Client,
        changed: Callable[[Resource, Change], None],
        *,
        finalizer: str = FINALIZER,
        selectors: Mapping[Resource, str] | None = None,
    ) -> None:
        """`finalizer` is what the engine holds sources by; of kinds with a label selector no others are followed."""
        self._host = host
        self._finalizer = finalizer
        self._selectors = selectors or {}
        self._changed = changed
        self._caches: dict[Resource, Cache] = {}
        self._running: dict[Resource, asyncio.Task[None]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._unseen: set[Resource] = set()
        self._within: dict[str, set[Ref]] = {}
        # What is being written that nothing follows from.
        self._told: dict[Ref, Obj] = {}

    @property
    def kinds(self) -> list[Resource]:
        """The followed kinds."""
        return list(self._caches)

    def follow(self, kinds: Sequence[Resource]) -> set[Resource]:
        """Follow exactly these kinds from now on; returns those that are no longer followed."""
        gone = self._caches.keys() - set(kinds)
        for kind in gone:
            for ref in self.refs(kind):
                self._leaves(ref)
            del self._caches[kind]
            self._unseen.discard(kind)
            if task := self._running.pop(kind, None):
                task.cancel()
        for kind in kinds:
            if kind not in self._caches:
                self._caches[kind] = Cache(self._host, kind, labels=self._selectors.get(kind, ""))
                self._unseen.add(kind)
                self._caches[kind].subscribe(self._following(kind))
                self._start(kind)
        return gone

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for kind in self._caches:
                self._start(kind)
            await asyncio.Event().wait()

    def _start(self, kind: Resource) -> None:
        if self._tasks is not None:
            self._running[kind] = self._tasks.create_task(self._caches[kind].run())

    def _following(self, kind: Resource) -> Handler:
        def changed(change: Change) -> None:
            ref = Ref(kind, change.key)
            if change.new_bytes is None:
                self._leaves(ref)
            elif change.old_bytes is None:
                self._within.setdefault(change.key.namespace, set()).add(ref)
            elif ref in self._told and _is_same(self._told[ref], change.new):
                return
            self._changed(kind, change)

        return changed

    @contextmanager
    def telling(self, ref: Ref, obj: Obj) -> Iterator[None]:
        """Write a source from which nothing follows: a watch may bring it before its answer comes."""
        self._told[ref] = obj
        try:
            yield
        finally:
            self._told.pop(ref, None)

    def _leaves(self, ref: Ref) -> None:
        namespace = ref.key.namespace
        if (within := self._within.get(namespace)) is not None:
            within.discard(ref)
            if not within:
                del self._within[namespace]

    async def wait_seen(self) -> None:
        """Wait for a complete list of every kind that the host serves."""
        for cache in list(self._caches.values()):
            while not cache.synced and not _is_unserved(cache):
                try:
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await cache.wait_synced()
                except TimeoutError:
                    continue

    def get(self, ref: Ref) -> Obj | None:
        """Return a source object, None where the host has none or it is not known yet."""
        cache = self._caches.get(ref.resource)
        return cache.get(ref.key) if cache is not None and cache.synced else None

    def has(self, ref: Ref) -> bool | None:
        """Tell whether the host has a source object; None where its kind is not followed, or not known yet."""
        cache = self._caches.get(ref.resource)
        return ref.key in cache if cache is not None and cache.synced else None

    def view(self, kind: Resource) -> Mapping[Key, Obj]:
        """Return every object of a kind by key, as it is whenever it is looked up; none while they are not known."""
        return _View(self._caches[kind])

    def complete(self) -> bool:
        """Tell whether every followed kind that the host serves has been seen whole."""
        self._unseen = {
            kind for kind in self._unseen if not self._caches[kind].synced and not _is_unserved(self._caches[kind])
        }
        return not self._unseen

    def seen(self, kinds: Collection[Resource]) -> bool:
        """Tell whether of some kinds everything is known."""
        return self.complete() or self._unseen.isdisjoint(kinds)

    def within(self, namespace: str) -> Collection[Ref]:
        """Return every source object in a namespace."""
        return self._within.get(namespace, ())

    def refs(self, kind: Resource) -> list[Ref]:
        """Return every source object of a kind."""
        cache = self._caches.get(kind)
        return [Ref(kind, key) for key in cache] if cache is not None and cache.synced else []

    def remember(self, ref: Ref, obj: Obj, *, quietly: bool = False) -> None:
        """Take in what was just written, `quietly` where nothing follows from it."""
        if cache := self._caches.get(ref.resource):
            cache.remember(obj, quietly=quietly)

    def hold(self, namespace: str) -> bool:
        """Tell whether the engine holds anything in a namespace, or may: a kind has not been seen yet."""
        if any(not cache.synced and not _is_unserved(cache) for cache in self._caches.values()):
            return True
        return any(self._finalizer in finalizers_of(self.get(ref) or _NOTHING) for ref in self.within(namespace))


class _View(Mapping[Key, Obj]):
    """A cache as a mapping, empty before it is filled."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def __getitem__(self, key: Key) -> Obj:
        found = self._cache.get(key) if self._cache.synced else None
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[Key]:
        return iter(self._cache if self._cache.synced else ())

    def __len__(self) -> int:
        return len(self._cache) if self._cache.synced else 0


_NOTHING: Obj = {"metadata": {}}


def _is_same(sent: Obj, found: Obj | None) -> bool:
    """Tell whether what was found is what was sent, but for what the server writes into it."""
    return found is not None and _content(sent) == _content(found)


def _content(obj: Obj) -> Obj:
    served = ("resourceVersion", "managedFields")
    return {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name not in served}}


def _is_unserved(cache: Cache) -> bool:
    return isinstance(cache.last_error, NotFound)
