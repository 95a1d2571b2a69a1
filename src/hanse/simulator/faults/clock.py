"""A cluster's own clock: the time of day that its API server and its controllers believe in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hanse.kube.runtime import Runtime

T = TypeVar("T")


class ClusterClock:
    """A runtime whose time of day can be wrong by `skew` seconds; everything else is the runtime behind it."""

    def __init__(self, inner: Runtime) -> None:
        self._inner = inner
        self.skew = 0.0

    def now(self) -> float:
        return self._inner.now() + self.skew

    def monotonic(self) -> float:
        return self._inner.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    def uniform(self, low: float, high: float) -> float:
        return self._inner.uniform(low, high)

    def uid(self) -> str:
        return self._inner.uid()

    def name_suffix(self) -> str:
        return self._inner.name_suffix()

    def secret(self) -> str:
        return self._inner.secret()

    async def in_thread(self, function: Callable[[], T]) -> T:
        return await self._inner.in_thread(function)
