"""A queue of keys to look at: each key once, one worker a key at a time, later, or after a growing pause.

Three sets give all of it, as in client-go: what waits, what is being worked on, and what became dirty meanwhile.
Keys carry an owner (a member cluster, say): owners take turns, so that a noisy one cannot starve a quiet one, and at
most so many keys of one are worked on at once where that is bounded.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from hanse.kube.runtime import Runtime

K = TypeVar("K", bound=Hashable)

FIRST_BACKOFF_SECONDS = 0.05
LAST_BACKOFF_SECONDS = 60.0
# A rest of a rounding error is not a delay: it would be over before the clock has moved, again and again.
_GRAIN_SECONDS = 0.001


class WorkQueue(Generic[K]):
    """Keys waiting for a worker."""

    def __init__(
        self,
        runtime: Runtime,
        *,
        owner: Callable[[K], Hashable] = lambda _key: None,
        most_of_one: int | None = None,
    ) -> None:
        """Bound by `most_of_one` how many keys of one owner are worked on at once."""
        self._runtime = runtime
        self._owner = owner
        self._most_of_one = most_of_one
        self._taken: dict[K, Hashable] = {}
        self._busy: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, deque[K]] = {}
        self._turns: deque[Hashable] = deque()
        self._dirty: set[K] = set()
        self._working: set[K] = set()
        self._failures: dict[K, int] = {}
        self._timers: dict[K, tuple[float, asyncio.TimerHandle]] = {}
        self._wakeup: deque[asyncio.Future[None]] = deque()
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        return len(self._dirty)

    def __contains__(self, key: object) -> bool:
        """Tell whether a key waits for a worker or is being looked at; one that is due later does not count."""
        return key in self._dirty or key in self._working

    def is_due(self, key: K) -> bool:
        """Tell whether a key is to be looked at as soon as a worker is free, be it once more."""
        return key in self._dirty

    def add(self, key: K) -> None:
        """Have a key looked at as soon as a worker is free; adding it twice is adding it once."""
        if key in self._dirty:
            return
        self._dirty.add(key)
        self._idle.clear()
        if key not in self._working:
            self._enqueue(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Have a key looked at later; of several times the earliest counts."""
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + max(seconds, _GRAIN_SECONDS)
        if timer := self._timers.get(key):
            if timer[0] <= when:
                return
            timer[1].cancel()
        self._timers[key] = (when, loop.call_at(when, self._due, key))

    def retry(self, key: K) -> float:
        """Have a key that failed looked at again, later each time; returns the pause."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause = min(FIRST_BACKOFF_SECONDS * 2.0 ** min(failures - 1, 20), LAST_BACKOFF_SECONDS)
        pause *= self._runtime.uniform(0.8, 1.0)
        self.add_after(key, pause)
        return pause

    def forget(self, key: K) -> None:
        """Start the pauses of a key from the shortest again."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """Wait for a key; the caller must say `done` afterwards."""
        while not self._turns:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._wakeup.append(future)
            try:
                await future
            except asyncio.CancelledError:
                if future.done() and not future.cancelled():
                    # We were woken for a key and cannot take it; somebody else must.
                    self._wake_one()
                raise
        owner = self._turns.popleft()
        keys = self._waiting[owner]
        key = keys.popleft()
        if self._most_of_one is not None:
            self._taken[key] = owner
            self._busy[owner] += 1
        if not keys:
            del self._waiting[owner]
        elif not self._is_bound(owner):
            self._turns.append(owner)
        self._dirty.discard(key)
        self._working.add(key)
        return key

    def done(self, key: K) -> None:
        """Say that a key was looked at; if it became dirty meanwhile it waits again."""
        self._working.discard(key)
        self._release(key)
        if key in self._dirty:
            self._enqueue(key)
        elif not self._dirty and not self._working:
            self._idle.set()

    async def wait_idle(self) -> None:
        """Wait until nothing waits and nobody works; keys due later do not count."""
        await self._idle.wait()

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)

    def _enqueue(self, key: K) -> None:
        owner = self._owner(key)
        keys = self._waiting.get(owner)
        if keys is not None:
            keys.append(key)
        else:
            self._waiting[owner] = deque((key,))
            if self._is_bound(owner):
                return
            self._turns.append(owner)
        self._wake_one()

    def _is_bound(self, owner: Hashable) -> bool:
        """Tell whether as many keys of an owner are worked on as may be; it has its next turn when one is done."""
        return self._most_of_one is not None and self._busy[owner] >= self._most_of_one

    def _release(self, key: K) -> None:
        if key not in self._taken:
            return
        # As whose it was taken: that may have changed meanwhile.
        owner = self._taken.pop(key)
        waits = self._is_bound(owner) and owner in self._waiting
        self._busy[owner] -= 1
        if not self._busy[owner]:
            del self._busy[owner]
        if waits:
            self._turns.append(owner)
            self._wake_one()

    def _wake_one(self) -> None:
        while self._wakeup:
            future = self._wakeup.popleft()
            if not future.done():
                future.set_result(None)
                return
