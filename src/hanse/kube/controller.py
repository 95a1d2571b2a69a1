"""The loop that every controller runs in: take a key, reconcile it, decide when to look again.

A reconciler is given a key, never an event, and returns the seconds after which it wants to look again, or None.
Whatever it raises is retried with a growing pause; only `Terminal` waits for the object to change. The loop alone
logs failures, so nothing below it does; what is no bug and no server's answer is raised as `Failed`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from hanse.kube.errors import ApiError, Conflict
from hanse.kube.log import Log
from hanse.kube.queue import WorkQueue
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Unreachable

K = TypeVar("K", bound=Hashable)
log = Log("hanse")


class Terminal(Exception):
    """Trying again cannot help until the object changes."""


class Failed(Exception):
    """It did not work this time, for a reason that is a sentence."""


class Controller(Generic[K]):
    """Runs one reconcile function over a queue of keys."""

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[float | None]],
        runtime: Runtime,
        *,
        workers: int | None = 8,
        owner: Callable[[K], Hashable] = lambda _key: None,
        most_of_one: int | None = None,
    ) -> None:
        """Without a number of `workers` as many work as there are keys, of one owner at most `most_of_one`.

        That is for keys whose reconciliation may wait for others for long: no number would be enough.
        """
        self.name = name
        self.queue: WorkQueue[K] = WorkQueue(runtime, owner=owner, most_of_one=most_of_one)
        self._reconcile = reconcile
        self._workers = workers

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as workers:
            if self._workers is None:
                while True:
                    workers.create_task(self._take(await self.queue.get()))
            for _ in range(self._workers):
                workers.create_task(self._work())

    async def _work(self) -> None:
        while True:
            await self._take(await self.queue.get())
            # A reconciler that had nothing to wait for must not keep the loop to itself for the whole queue.
            await asyncio.sleep(0)

    async def _take(self, key: K) -> None:
        try:
            await self._attempt(key)
        finally:
            self.queue.done(key)

    async def _attempt(self, key: K) -> None:
        try:
            again = await self._reconcile(key)
        except Terminal as error:
            self.queue.forget(key)
            log.warning("Gave up until the object changes", controller=self.name, key=str(key), error=str(error))
        except Conflict:
            # Somebody wrote first: the cache will have their version in a moment.
            self.queue.retry(key)
        except (ApiError, Unreachable, TimeoutError, Failed) as error:
            pause = self.queue.retry(key)
            log.warning("Will try again", controller=self.name, key=str(key), error=str(error), seconds=round(pause, 2))
        except Exception:
            pause = self.queue.retry(key)
            log.exception("Failed on a bug", controller=self.name, key=str(key), seconds=round(pause, 2))
        else:
            self.queue.forget(key)
            if again is not None:
                self.queue.add_after(key, again)
