"""Which clusters have a door open: what is done for a cluster begins when it opens and ends when it closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hanse.api.clusters import DOORS_ANNOTATION, words_of
from hanse.clusters.registry import Registry
from hanse.kube.cache import Change
from hanse.kube.manifest import Key, annotations_of


class OpenDoors:
    """Follows the Clusters for one door."""

    def __init__(self, registry: Registry, door: str) -> None:
        self._registry = registry
        self._door = door
        self._news: dict[str, asyncio.Event] = {}

    def follow(self) -> None:
        """Hear of every door that opens or closes from now on."""
        self._registry.cache.subscribe(self._changed)

    async def while_open(self, cluster: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do a work whenever the door of a cluster is open, until cancelled; it has ended before it begins again."""
        news = self._news[cluster] = asyncio.Event()
        working: asyncio.Task[None] | None = None
        async with asyncio.TaskGroup() as tasks:
            while True:
                news.clear()
                if self._is_open(cluster) and working is None:
                    working = tasks.create_task(work())
                elif not self._is_open(cluster) and working is not None:
                    working.cancel()
                    await asyncio.gather(working, return_exceptions=True)
                    working = None
                await news.wait()

    def _changed(self, change: Change) -> None:
        if (news := self._news.get(change.key.name)) is not None:
            news.set()

    def _is_open(self, cluster: str) -> bool:
        found = self._registry.cache.get(Key("", cluster))
        return found is not None and self._door in words_of(annotations_of(found).get(DOORS_ANNOTATION, ""))
