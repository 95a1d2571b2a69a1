"""A local copy of one kind in one cluster, kept current by list and watch.

The copy survives disconnects (it resumes where it was), expiry of the watch window (it lists again and compares) and
restarts of the server. What it holds per object is bytes: a projection chosen by its user, decoded at each read, so
that a reader can never change the copy. Handlers hear of each change once and in order, and never of a deletion that
did not happen: only a watch's DELETED or a complete list without the object counts as one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass

import orjson

from hanse.kube.client import Client
from hanse.kube.errors import ApiError, Gone
from hanse.kube.manifest import Key, Obj, key_of, version_of
from hanse.kube.resources import Resource
from hanse.kube.transport import Unreachable

_FIRST_RETRY_SECONDS = 0.2
_LAST_RETRY_SECONDS = 10.0
_WATCH_SECONDS = (240, 300)
# A server that promised to end the watch by then and has sent nothing is not there any more.
_WATCH_GRACE_SECONDS = 15


class NotSynced(RuntimeError):
    """The cache was read before it had seen a complete list."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one object: `old` and `new` are its stored forms before and after, None where absent."""

    key: Key
    old_bytes: bytes | None
    new_bytes: bytes | None

    @property
    def old(self) -> Obj | None:
        """The object before the change."""
        return None if self.old_bytes is None else orjson.loads(self.old_bytes)

    @property
    def new(self) -> Obj | None:
        """The object after the change."""
        return None if self.new_bytes is None else orjson.loads(self.new_bytes)


Handler = Callable[[Change], None]


def without_managed_fields(obj: Obj) -> Obj:
    """Drop what only the server reads; a quarter of an object's bytes."""
    obj["metadata"].pop("managedFields", None)
    return obj


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
        project: Callable[[Obj], Obj] = without_managed_fields,
    ) -> None:
        self.resource = resource
        self.last_error: Exception | None = None
        self._client = client
        self._runtime = client.runtime
        self._scope = {"labels": labels, "fields": fields}
        self._namespace = namespace
        self._project = project
        self._objects: dict[Key, bytes] = {}
        self._versions: dict[Key, str] = {}
        self._handlers: list[Handler] = []
        self._synced = asyncio.Event()
        self._connected = False
        self._version = ""

    def subscribe(self, handler: Handler) -> None:
        """Call `handler` for every object held now and for every change to come."""
        self._handlers.append(handler)
        for key, stored in self._objects.items():
            handler(Change(key, None, stored))

    @property
    def synced(self) -> bool:
        """Whether a complete list has been seen."""
        return self._synced.is_set()

    @property
    def connected(self) -> bool:
        """Whether changes are arriving at this moment."""
        return self._connected

    async def wait_synced(self) -> None:
        """Wait for the first complete list."""
        await self._synced.wait()

    def get(self, key: Key) -> Obj | None:
        """Return a fresh copy of an object, None where the cluster has none."""
        self._require_synced()
        stored = self._objects.get(key)
        return None if stored is None else orjson.loads(stored)

    def objects(self, namespace: str = "") -> Iterator[Obj]:
        """Yield fresh copies of the objects, of one namespace where named."""
        self._require_synced()
        for key in sorted(self._objects):
            if not namespace or key.namespace == namespace:
                yield orjson.loads(self._objects[key])

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys of all objects, in order."""
        self._require_synced()
        return iter(sorted(self._objects))

    def __len__(self) -> int:
        return len(self._objects)

    def remember(self, obj: Obj) -> None:
        """Take in the answer to one's own write, so that the next read does not lag behind it.

        An answer that the watch has overtaken is let go: the object may be gone again by now.
        """
        if self.synced and _newer(version_of(obj), self._version):
            self._store(obj)

    async def run(self) -> None:
        """Keep the copy current until cancelled."""
        retry = _FIRST_RETRY_SECONDS
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._follow()
                retry = _FIRST_RETRY_SECONDS
            except Gone as error:
                self._fail(error)
                self._version = ""
                await self._runtime.sleep(self._runtime.uniform(0.0, _FIRST_RETRY_SECONDS))
            except (ApiError, Unreachable, TimeoutError) as error:
                self._fail(error)
                await self._runtime.sleep(self._runtime.uniform(0.5, 1.0) * retry)
                retry = min(retry * 2, _LAST_RETRY_SECONDS)

    def _fail(self, error: Exception) -> None:
        self._connected = False
        self.last_error = error

    async def _list(self) -> None:
        """Take a complete list and tell the differences; nothing changes until it is complete."""
        seen: set[Key] = set()
        version = ""
        listed: list[Obj] = []
        async with aclosing(self._client.pages(self.resource, self._namespace, **self._scope)) as pages:
            async for page in pages:
                listed += page.items
                version = page.resource_version
        for obj in listed:
            seen.add(key_of(obj))
            self._store(obj)
        for key in [key for key in self._objects if key not in seen]:
            self._remove(key)
        self._version = version
        self._synced.set()

    async def _follow(self) -> None:
        """Read the watch until the server ends it."""
        seconds = int(self._runtime.uniform(*_WATCH_SECONDS))
        events = self._client.watch(
            self.resource,
            self._namespace,
            version=self._version,
            timeout_seconds=seconds,
            opened=self._opened,
            **self._scope,
        )
        async with asyncio.timeout(seconds + _WATCH_GRACE_SECONDS), aclosing(events):
            async for event in events:
                if event.type == "DELETED":
                    self._remove(key_of(event.object))
                elif event.type != "BOOKMARK":
                    event.object.setdefault("apiVersion", self.resource.api_version)
                    event.object.setdefault("kind", self.resource.kind)
                    self._store(event.object)
                self._version = version_of(event.object) or self._version

    def _opened(self) -> None:
        self._connected = True
        self.last_error = None

    def _store(self, obj: Obj) -> None:
        key, version = key_of(obj), version_of(obj)
        old = self._objects.get(key)
        if old is not None and self._versions.get(key) == version:
            return
        # The encoder's buffer has spare room; an exact-size copy halves what is kept.
        new = bytes(memoryview(orjson.dumps(self._project(obj))))
        self._objects[key] = new
        self._versions[key] = version
        self._tell(Change(key, old, new))

    def _remove(self, key: Key) -> None:
        old = self._objects.pop(key, None)
        self._versions.pop(key, None)
        if old is not None:
            self._tell(Change(key, old, None))

    def _tell(self, change: Change) -> None:
        for handler in self._handlers:
            handler(change)

    def _require_synced(self) -> None:
        if not self.synced:
            raise NotSynced(f"the cache of {self.resource.group_resource} at {self._client.address} has not synced yet")


def _newer(version: str, than: str) -> bool:
    # Resource versions of one kind in one server are comparable numbers (KEP-5504); anything else is left to the watch.
    try:
        return int(version) > int(than)
    except ValueError:
        return False
