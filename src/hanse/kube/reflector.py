"""Following one kind of one server: a complete list, then the changes, for ever.

The list comes in pages, or as a stream of initial events where that is asked for and the server offers it; nothing
that has arrived counts before it is complete. After a disconnect the watch resumes where it was; only a version that
the server no longer keeps (410) leads to a new list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

import orjson

from hanse.kube.client import Client
from hanse.kube.errors import ApiError, BadRequest, Forbidden, Gone, Invalid
from hanse.kube.log import Log
from hanse.kube.manifest import Key, Obj, dig, key_of, version_of
from hanse.kube.resources import Resource
from hanse.kube.transport import Unreachable

log = Log("hanse")

_FIRST_RETRY_SECONDS = 0.2
_LAST_RETRY_SECONDS = 10.0
_SHORT_WATCH_SECONDS = 1.0
_WATCH_SECONDS = (240, 300)
# A server that promised to end the watch by then and has sent nothing is not there any more.
_WATCH_GRACE_SECONDS = 15
_INITIAL_EVENTS_END = "k8s.io/initial-events-end"
# Objects taken in between two turns of the event loop.
_BATCH = 200


@dataclass(frozen=True, slots=True)
class Scope:
    """Which objects are followed, and whether their metadata alone will do."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False


class Sink(Protocol):
    """Whoever takes in what a reflector sees."""

    def begin(self) -> None:
        """Forget what an unfinished list had brought."""

    def stage(self, obj: Obj) -> None:
        """Take one object of a list that is not complete yet."""

    def commit(self, version: str) -> Iterator[None]:
        """Make the list that was staged the truth as of a version, one object a step."""

    def store(self, obj: Obj) -> None:
        """Take in a new or changed object."""

    def remove(self, key: Key, version: str) -> None:
        """Let an object go that the server deleted at a version."""

    def reached(self, version: str) -> None:
        """Note that everything up to a version has been told."""

    def connected(self, error: Exception | None) -> None:
        """Hear that changes arrive from now on, or why they do not."""


class Reflector:
    """Keeps a sink current with one kind of one server."""

    def __init__(
        self, client: Client, resource: Resource, scope: Scope, sink: Sink, *, streaming: bool = False
    ) -> None:
        self._client = client
        self._runtime = client.runtime
        self._resource = resource
        self._scope = scope
        self._sink = sink
        self._version = ""
        self._streams_lists = streaming
        self._retry = _FIRST_RETRY_SECONDS
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Try again at once instead of after the present pause."""
        self._wake.set()

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            begun = self._runtime.monotonic()
            try:
                if self._version:
                    await self._follow(self._version)
                elif self._streams_lists:
                    await self._list_by_stream()
                else:
                    await self._list_by_pages()
                    continue
            except Gone as error:
                self._sink.connected(error)
                self._version = ""
            except (ApiError, Unreachable, TimeoutError) as error:
                self._sink.connected(error)
            except Exception as error:
                log.exception("Following a kind failed on a bug", kind=self._resource.group_resource)
                self._sink.connected(error)
            # A server that ends watches as soon as they begin gets no more requests than one that refuses them.
            if self._runtime.monotonic() - begun >= _SHORT_WATCH_SECONDS:
                self._retry = _FIRST_RETRY_SECONDS
            await self._pause()

    async def _pause(self) -> None:
        self._wake.clear()
        pause = self._runtime.uniform(0.5, 1.0) * self._retry
        self._retry = min(self._retry * 2, _LAST_RETRY_SECONDS)
        try:
            async with asyncio.timeout(pause):
                await self._wake.wait()
            self._retry = _FIRST_RETRY_SECONDS
        except TimeoutError:
            return

    async def _list_by_stream(self) -> None:
        """Ask for the list as the first part of the watch; a server that does not know how is asked for pages."""
        try:
            await self._follow("")
        except (BadRequest, Invalid, Forbidden):
            # Forbidden comes back from the pages too, if it was about the kind and not about the way of asking.
            self._streams_lists = False

    async def _list_by_pages(self) -> None:
        self._sink.begin()
        version = ""
        scope = self._scope
        pages = self._client.pages(
            self._resource,
            scope.namespace,
            labels=scope.labels,
            fields=scope.fields,
            metadata_only=scope.metadata_only,
        )
        async with aclosing(pages):
            async for page in pages:
                for number, item in enumerate(page.items or (), 1):
                    self._sink.stage(self._resource.name_kind(orjson.loads(memoryview(item))))
                    if number % _BATCH == 0:
                        await asyncio.sleep(0)
                version = page.metadata.version
        await self._commit(version)

    async def _commit(self, version: str) -> None:
        """Make the list count, a part at a time: handlers of ten thousand objects must not hold up the loop."""
        for number, _ in enumerate(self._sink.commit(version), 1):
            if number % _BATCH == 0:
                await asyncio.sleep(0)
        self._version = version

    async def _follow(self, version: str) -> None:
        """Read a watch until the server ends it; without a version it begins with the list."""
        seconds = int(self._runtime.uniform(*_WATCH_SECONDS))
        scope = self._scope
        events = self._client.watch(
            self._resource,
            scope.namespace,
            version=version,
            labels=scope.labels,
            fields=scope.fields,
            metadata_only=scope.metadata_only,
            timeout_seconds=seconds,
            opened=self._opened,
        )
        listing = not version
        if listing:
            self._sink.begin()
        async with asyncio.timeout(seconds + _WATCH_GRACE_SECONDS), aclosing(events):
            number = 0
            async for event in events:
                number += 1
                if number % _BATCH == 0:
                    await asyncio.sleep(0)
                if listing:
                    listing = not await self._take_initial(event.type, event.object)
                else:
                    self._take(event.type, event.object)

    def _opened(self) -> None:
        if self._version:
            self._sink.connected(None)

    async def _take_initial(self, kind: str, obj: Obj) -> bool:
        """Take an event of the list's part of the stream; True when that part has ended."""
        if kind == "BOOKMARK":
            if dig(obj, "metadata", "annotations", _INITIAL_EVENTS_END) != "true":
                return False
            await self._commit(version_of(obj))
            self._sink.connected(None)
            return True
        self._sink.stage(self._resource.name_kind(obj))
        return False

    def _take(self, kind: str, obj: Obj) -> None:
        if kind == "DELETED":
            self._sink.remove(key_of(obj), version_of(obj))
        elif kind != "BOOKMARK":
            self._sink.store(self._resource.name_kind(obj))
        if version := version_of(obj):
            self._version = version
            self._sink.reached(version)
