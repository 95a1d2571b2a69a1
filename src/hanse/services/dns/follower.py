"""Keeping a server's zone as the host says: by watching, so that a host that cannot be reached changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from hanse.api.clusters import CLUSTERS
from hanse.api.federation import FEDERATION_NAME, FEDERATIONS
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj
from hanse.services.dns.book import Book
from hanse.services.dns.keeping import Keeper

# Changes of so long share a serial: often enough for secondaries, and no serial runs ahead of the clock.
_COMMIT_SECONDS = 1.0
_KEEP_SECONDS = 30.0


class Follower:
    """Watches a federation's host for a book."""

    def __init__(self, host: Client, book: Book, changed: asyncio.Event, keeper: Keeper | None = None) -> None:
        """`changed` is set by the book whenever there is something to commit; a `keeper` has what is known on disk."""
        self._book = book
        self._changed = changed
        self._keeper = keeper
        self._unkept = asyncio.Event()
        self._runtime = host.runtime
        self._federations = Cache(host, FEDERATIONS)
        self._clusters = Cache(host, CLUSTERS)
        self._services = Cache(host, SERVICE_ADDRESSES)

    async def run(self) -> None:
        """Follow the host until cancelled; before all of it has been seen, only what was kept is answered."""
        if self._keeper is not None:
            self._keeper.fill(self._book)
        caches = (self._federations, self._clusters, self._services)
        async with asyncio.TaskGroup() as tasks:
            for cache in caches:
                tasks.create_task(cache.run())
            for cache in caches:
                await cache.wait_synced()
            self._begin()
            tasks.create_task(self._commit())
            if self._keeper is not None:
                tasks.create_task(self._keep(self._keeper))

    def _begin(self) -> None:
        """Take in all that the host has, and let go of what was kept and is there no longer."""
        book = self._book
        if Key("", FEDERATION_NAME) not in self._federations:
            book.take_federation(None)
        for name in [name for name in book.places if Key("", name) not in self._clusters]:
            book.take_cluster(name, None)
        for key in [key for key in book.services if key not in self._services]:
            book.take_service(key, None)
        self._federations.subscribe(self._take_federation)
        self._clusters.subscribe(self._take_cluster)
        self._services.subscribe(self._take_service)
        book.complete()

    def _take_federation(self, change: Change) -> None:
        if change.key.name == FEDERATION_NAME:
            self._book.take_federation(change.new)
            self._unkept.set()

    def _take_cluster(self, change: Change) -> None:
        self._book.take_cluster(change.key.name, change.new)
        self._unkept.set()

    def _take_service(self, change: Change) -> None:
        self._book.take_service(change.key, change.new)
        self._unkept.set()

    async def _commit(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._runtime.sleep(_COMMIT_SECONDS)
            self._book.zones.commit(self._runtime.now())

    async def _keep(self, keeper: Keeper) -> None:
        while True:
            await self._unkept.wait()
            self._unkept.clear()
            await keeper.write(self._known())
            await self._runtime.sleep(_KEEP_SECONDS)

    def _known(self) -> Iterator[Obj]:
        for cache in (self._federations, self._clusters, self._services):
            yield from cache.objects()
