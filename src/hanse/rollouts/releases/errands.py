"""Work that takes its time and changes nothing: done beside the reconcilers, which come back for what it brought.

A chart repository or a check that hangs must hold up neither the release that waits for it nor anybody else's. What an
errand brings is kept in memory until it is fetched for good; a control plane that dies sends the next one out again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class Errands(Generic[K, T]):
    """One errand a key at a time; `back` is called with the key when one is over."""

    def __init__(self, back: Callable[[K], None]) -> None:
        self._back = back
        self._tasks: asyncio.TaskGroup | None = None
        self._out: dict[K, asyncio.Task[T]] = {}

    async def run(self) -> None:
        """Send errands out until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            await asyncio.Event().wait()

    def send(self, key: K, errand: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """Begin an errand, unless one for the same key is under way or waits to be fetched."""
        if key in self._out or self._tasks is None:
            return
        task = self._out[key] = asyncio.get_running_loop().create_task(errand())
        self._tasks.create_task(self._await(key, task))

    def fetch(self, key: K) -> T | None:
        """Return what an errand brought, None while it is under way; what it failed with is raised, once."""
        task = self._out.get(key)
        if task is None or not task.done():
            return None
        if task.cancelled() or task.exception() is not None:
            del self._out[key]
        return task.result()

    def forget(self, key: K) -> None:
        """Let go what an errand brought, and call back one that is under way."""
        task = self._out.pop(key, None)
        if task is not None:
            task.cancel()

    def known(self) -> list[K]:
        """Return those for whom an errand is under way or waits to be fetched."""
        return list(self._out)

    async def _await(self, key: K, task: asyncio.Task[T]) -> None:
        try:
            await asyncio.wait({task})
        finally:
            if not task.done():
                # We are being ended: nobody will come for it.
                task.cancel()
        if self._out.get(key) is task:
            self._back(key)
