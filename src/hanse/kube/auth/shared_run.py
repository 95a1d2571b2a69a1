"""One run at a time for all who need its result: nobody starts a second one, and nobody who gives up ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class RunEnded(Exception):
    """The run was ended from outside before it had a result."""


class SharedRun(Generic[T]):
    """Something that takes a while and is asked for by many at once."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._work = work
        self._task: asyncio.Task[T] | None = None

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        return self._task is not None and not self._task.done()

    async def result(self) -> T:
        """Return the result of the run that is under way, or of a new one; raises RunEnded."""
        task = self._task
        if task is None or task.done():
            task = self._task = asyncio.get_running_loop().create_task(self._work())
            # All who wait may be gone before the run ends; its failure must not be reported as nobody's.
            task.add_done_callback(lambda run: run.cancelled() or run.exception())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            asking = asyncio.current_task()
            if task.cancelled() and not (asking is not None and asking.cancelling()):
                raise RunEnded from None
            raise

    async def close(self) -> None:
        """End the run that is under way."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})
