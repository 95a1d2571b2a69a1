"""An event loop whose clock jumps: when nothing is left to do now, it is at once the time of what comes next.

An hour of a whole federation passes in seconds, and the order of things depends on nothing but the program: the same
run with the same `SeededRuntime` is the same run.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Deadlock(RuntimeError):
    """Everything waits for something that nothing will ever do."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, which begins at 0; it has no sockets, signals or threads to wait for."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self._jump))

    def time(self) -> float:
        return self._now

    def _jump(self, seconds: float) -> None:
        self._now += seconds


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
