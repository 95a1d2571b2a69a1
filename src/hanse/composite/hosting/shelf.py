"""The caches that lambda controllers share: one a kind, for as long as somebody needs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from hanse.composite.hosting.family import Family
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class Kept:
    """What is known of one kind: every object of it, and who owns them."""

    cache: Cache
    family: Family


@dataclass(slots=True)
class _Shelved:
    kept: Kept
    task: asyncio.Task[None]
    stop: Callable[[], None]
    users: int = 0


class CacheShelf:
    """Lends the cache of a kind; it is followed while anybody has it."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._shelved: dict[Resource, _Shelved] = {}

    @asynccontextmanager
    async def lend(self, resource: Resource) -> AsyncIterator[Kept]:
        """Give what is known of a kind once a complete list of it has been seen."""
        shelved = self._shelved.get(resource)
        if shelved is None:
            shelved = self._shelved[resource] = self._begin(resource)
        shelved.users += 1
        try:
            await shelved.kept.cache.wait_synced()
            yield shelved.kept
        finally:
            shelved.users -= 1
            if not shelved.users:
                del self._shelved[resource]
                shelved.stop()
                shelved.task.cancel()
                await asyncio.gather(shelved.task, return_exceptions=True)

    def _begin(self, resource: Resource) -> _Shelved:
        cache = Cache(self._client, resource)
        family = Family(cache)
        return _Shelved(Kept(cache, family), asyncio.ensure_future(cache.run()), family.follow())
