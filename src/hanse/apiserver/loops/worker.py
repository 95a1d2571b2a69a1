"""A loop's engine: keys that need a look, looked at one after the other, again later where that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from hanse.apiserver.storage import Stale, StorageError
from hanse.kube.errors import ApiError
from hanse.kube.log import Log
from hanse.kube.runtime import Runtime

_log = Log(__name__)
K = TypeVar("K", bound=Hashable)
_RETRY_SECONDS = 0.5


class Worker(Generic[K]):
    """Calls a function for every key that was added, once however often it was added meanwhile."""

    def __init__(self, name: str, runtime: Runtime, work: Callable[[K], Awaitable[None]]) -> None:
        self._name = name
        self._runtime = runtime
        self._work = work
        self._keys: dict[K, None] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._retries: set[asyncio.Task[None]] = set()

    def add(self, key: K) -> None:
        """Have a key looked at."""
        self._keys[key] = None
        self._wake.set()

    def start(self) -> None:
        """Begin to work."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop after the present key."""
        tasks = [task for task in (self._task, *self._retries) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._keys:
                key = next(iter(self._keys))
                del self._keys[key]
                await self._attempt(key)

    async def _attempt(self, key: K) -> None:
        try:
            await self._work(key)
        except Stale:
            self.add(key)
        except (ApiError, StorageError) as error:
            _log.warning("A loop will try again", loop=self._name, key=str(key), error=str(error))
            self._retry(key)
        except Exception as error:  # noqa: BLE001 - a fault in one key must not stop the loop for all others
            _log.error("A loop failed on a key", loop=self._name, key=str(key), exc_info=error)
            self._retry(key)

    def _retry(self, key: K) -> None:
        async def again() -> None:
            await self._runtime.sleep(_RETRY_SECONDS)
            self.add(key)

        task = asyncio.create_task(again())
        self._retries.add(task)
        task.add_done_callback(self._retries.discard)
