"""An event loop whose clock jumps: when nothing is left to do now, it is at once the time of what comes next.

An hour of a whole federation passes in seconds, and the order of things depends on nothing but the program: the same
run with the same `SeededRuntime` is the same run.
"""

from __future__ import annotations

import asyncio
import heapq
import selectors
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import count
from typing import Any, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Deadlock(RuntimeError):
    """Everything waits for something that nothing will ever do."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, which begins at 0; it has no sockets, signals or threads to wait for."""

    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        self._now = 0.0
        self._timers = count()
        super().__init__(_JumpingSelector(self._jump))

    def time(self) -> float:
        return self._now

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = _OrderlyTimer(when, callback, args, self, context)
        timer.set_as(next(self._timers))
        heapq.heappush(self._scheduled, timer)
        return timer

    def _jump(self, seconds: float) -> None:
        self._now += seconds


class _OrderlyTimer(asyncio.TimerHandle):
    """A timer that comes after those that were set before it for the same moment.

    asyncio leaves that to how its heap happens to lie, which who was cancelled meanwhile, and in which order, changes.
    """

    _number = 0
    _scheduled: bool

    def set_as(self, number: int) -> None:
        """Note that it is the loop's n-th timer, and is in its heap: the loop counts those that are cancelled there."""
        self._number = number
        self._scheduled = True

    def __lt__(self, other: asyncio.TimerHandle) -> bool:
        if isinstance(other, _OrderlyTimer) and self.when() == other.when():
            return self._number < other._number
        return self.when() < other.when()


class _JumpingSelector(selectors.SelectSelector):
    """Passes the time instead of waiting for it."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Deadlock("every task waits and no time is due: the simulation cannot go on")
        if timeout > 0:
            self._jump(timeout)
        return []


def run_virtually(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine from beginning to end on virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())
