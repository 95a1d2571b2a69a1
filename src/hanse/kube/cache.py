"""A local copy of one kind in one cluster, kept current by list and watch.

The copy survives disconnects, expiry of the watch window and restarts of the server (`reflector.py` follows it). What
it holds per object is packed bytes: a projection chosen by its user, decoded at each read, so that a reader can never
change the copy. Handlers hear of each change once and in order, and never of a deletion that did not happen: only a
watch's DELETED or a complete list without the object counts as one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj, is_newer, key_of, version_of
from hanse.kube.packing import pack, unpack
from hanse.kube.reflector import Reflector, Scope
from hanse.kube.resources import Resource


class NotSynced(RuntimeError):
    """The cache was read before it had seen a complete list."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one object: `old` and `new` are its stored forms before and after, None where absent.

    What was `listed` may have been so for long; all else has just happened.
    """

    key: Key
    old_bytes: bytes | None
    new_bytes: bytes | None
    listed: bool = False

    @property
    def old(self) -> Obj | None:
        """The object before the change."""
        return None if self.old_bytes is None else unpack(self.old_bytes)

    @property
    def new(self) -> Obj | None:
        """The object after the change."""
        return None if self.new_bytes is None else unpack(self.new_bytes)


class _Stored(msgspec.Struct, gc=False, frozen=True):
    version: str
    packed: bytes


Handler = Callable[[Change], None]


def without_managed_fields(obj: Obj) -> Obj:
    """Drop what only the server reads; a quarter of an object's bytes."""
    obj["metadata"].pop("managedFields", None)
    return obj


class _Copy:
    """What a reflector has brought so far; complete lists replace it in one step."""

    def __init__(self, project: Callable[[Obj], Obj]) -> None:
        self.objects: dict[Key, _Stored] = {}
        self.handlers: list[Handler] = []
        self.listeners: list[Callable[[bool], None]] = []
        self.synced = asyncio.Event()
        self.error: Exception | None = None
        self.following = False
        self.version = ""
        # How many objects lists have brought so far: who gets more of them is slow, and not lost.
        self.listed = 0
        self._staged: dict[Key, _Stored] = {}
        self._project = project

    def begin(self) -> None:
        self._staged = {}

    def stage(self, obj: Obj) -> None:
        key, version = key_of(obj), version_of(obj)
        known = self.objects.get(key)
        self.listed += 1
        self._staged[key] = known if known is not None and known.version == version else self._stored(obj)

    def commit(self, version: str) -> Iterator[None]:
        # The whole list counts from here on; what changed by it is told a step at a time.
        changes = list(self._changes_by(self._staged, version))
        for change, stored in changes:
            if stored is None:
                del self.objects[change.key]
            else:
                self.objects[change.key] = stored
        self._staged = {}
        self.version = version
        self.synced.set()
        for change, stored in changes:
            if self.objects.get(change.key) is stored:
                self._tell(change)
            self.listed += 1
            yield

    def _changes_by(self, staged: dict[Key, _Stored], version: str) -> Iterator[tuple[Change, _Stored | None]]:
        for key, held in self.objects.items():
            # What was remembered since is younger than the list.
            if key not in staged and not is_newer(held.version, version):
                yield Change(key, held.packed, None), None
        for key, stored in staged.items():
            before = self.objects.get(key)
            if before is None:
                yield Change(key, None, stored.packed, listed=True), stored
            elif before is not stored and not is_newer(before.version, stored.version):
                yield Change(key, before.packed, stored.packed), stored

    def store(self, obj: Obj, *, quietly: bool = False) -> None:
        key, version = key_of(obj), version_of(obj)
        old = self.objects.get(key)
        # What was remembered comes again through the watch, and what came before it may come after it.
        if old is None or not (old.version == version or is_newer(old.version, version)):
            new = self.objects[key] = self._stored(obj)
            if not quietly:
                self._tell(Change(key, old.packed if old else None, new.packed))

    def remove(self, key: Key, version: str) -> None:
        old = self.objects.get(key)
        # What was remembered since is younger than the deletion: somebody made it again.
        if old is not None and not is_newer(old.version, version):
            del self.objects[key]
            self._tell(Change(key, old.packed, None))

    def reached(self, version: str) -> None:
        self.version = version

    def connected(self, error: Exception | None) -> None:
        before, self.following = self.following, error is None
        self.error = error
        if before != self.following:
            for listener in self.listeners:
                listener(self.following)

    def _stored(self, obj: Obj) -> _Stored:
        version = version_of(obj)
        return _Stored(version, pack(self._project(obj)))

    def _tell(self, change: Change) -> None:
        for handler in self.handlers:
            handler(change)


class Cache:
    """What one cluster has of one kind, as of a moment ago."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        metadata_only: bool = False,
        streaming: bool = False,
        project: Callable[[Obj], Obj] = without_managed_fields,
    ) -> None:
        self.resource = resource
        self._address = client.address
        self._copy = _Copy(project)
        scope = Scope(namespace, labels, fields, metadata_only)
        self._reflector = Reflector(client, resource, scope, self._copy, streaming=streaming)

    async def run(self) -> None:
        """Keep the copy current until cancelled."""
        await self._reflector.run()

    def subscribe(self, handler: Handler) -> Callable[[], None]:
        """Call `handler` for every object held now and for every change to come; what is returned ends that."""
        self._copy.handlers.append(handler)
        for key, stored in self._copy.objects.items():
            handler(Change(key, None, stored.packed, listed=True))
        return lambda: self._copy.handlers.remove(handler)

    def on_connected(self, listener: Callable[[bool], None]) -> None:
        """Call `listener` with True when changes begin to arrive and with False when they cease to."""
        self._copy.listeners.append(listener)

    def wake(self) -> None:
        """Try to reach the server at once, whatever pause earlier failures brought about."""
        self._reflector.wake()

    @property
    def synced(self) -> bool:
        """Whether a complete list has been seen."""
        return self._copy.synced.is_set()

    @property
    def connected(self) -> bool:
        """Whether changes are arriving at this moment."""
        return self._copy.following

    @property
    def listed(self) -> int:
        """How far complete lists have come, those before counted with; while it grows, one is under way."""
        return self._copy.listed

    @property
    def last_error(self) -> Exception | None:
        """Why changes are not arriving; None while they are."""
        return self._copy.error

    async def wait_synced(self) -> None:
        """Wait for the first complete list."""
        await self._copy.synced.wait()

    def get(self, key: Key) -> Obj | None:
        """Return a fresh copy of an object, None where the cluster has none."""
        self._require_synced()
        stored = self._copy.objects.get(key)
        return None if stored is None else unpack(stored.packed)

    def version(self, key: Key) -> str:
        """Return the version of an object without decoding it, "" where the cluster has none."""
        self._require_synced()
        stored = self._copy.objects.get(key)
        return "" if stored is None else stored.version

    def objects(self, namespace: str = "") -> Iterator[Obj]:
        """Yield fresh copies of the objects, of one namespace where named."""
        for key in self:
            if not namespace or key.namespace == namespace:
                yield unpack(self._copy.objects[key].packed)

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys of all objects, in order."""
        self._require_synced()
        return iter(sorted(self._copy.objects))

    def __contains__(self, key: object) -> bool:
        self._require_synced()
        return key in self._copy.objects

    def __len__(self) -> int:
        return len(self._copy.objects)

    def remember(self, obj: Obj, *, quietly: bool = False) -> None:
        """Take in the answer to one's own write, so that the next read does not lag behind it.

        An answer that the watch has overtaken is let go: the object may be gone again by now. Handlers hear of it,
        unless it is taken in `quietly` since nothing follows from it.
        """
        if self.synced and is_newer(version_of(obj), self._copy.version):
            self._copy.store(obj, quietly=quietly)

    def _require_synced(self) -> None:
        if not self.synced:
            raise NotSynced(f"the cache of {self.resource.group_resource} at {self._address} has not synced yet")
