"""Watch streams on a bad wire: events arrive late, wait while nothing passes, or the stream breaks."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from hanse.apiserver.hub import Frame, Sink
from hanse.kube.runtime import Runtime

# Events that may wait on a silent wire before the stream is given up.
_WAITING_LIMIT = 20_000


class Wire(Protocol):
    """What a stream asks of the way that it takes."""

    @property
    def delay(self) -> float:
        """How many seconds an event takes."""

    @property
    def silent(self) -> bool:
        """Whether nothing passes at the moment."""

    async def changed(self) -> None:
        """Wait until either may have become another."""


class WireSink:
    """A stream's end at the server: passes events on in their order, when the wire lets them."""

    def __init__(self, inner: Sink, wire: Wire, runtime: Runtime) -> None:
        self._inner = inner
        self._wire = wire
        self._runtime = runtime
        self._waiting: deque[tuple[float, Frame]] = deque()
        self._carrier: asyncio.Task[None] | None = None
        self._given_up = False

    @property
    def remote(self) -> bool:
        return self._inner.remote

    def send(self, frame: Frame) -> bool:
        if self._given_up or len(self._waiting) >= _WAITING_LIMIT:
            return False
        if not self._waiting and not self._wire.delay and not self._wire.silent:
            return self._inner.send(frame)
        self._waiting.append((self._runtime.monotonic() + self._wire.delay, frame))
        if self._carrier is None:
            self._carrier = asyncio.create_task(self._carry())
        return True

    def end(self, *, broken: bool) -> None:
        if self._carrier is not None:
            self._carrier.cancel()
            self._carrier = None
        broken = broken or self._wire.silent
        while self._waiting and not broken:
            self._inner.send(self._waiting.popleft()[1])
        self._waiting.clear()
        self._inner.end(broken=broken)

    async def _carry(self) -> None:
        while self._waiting:
            if self._wire.silent:
                await self._wire.changed()
                continue
            due, frame = self._waiting[0]
            wait = due - self._runtime.monotonic()
            # The pause is for those events that are on their way; what the clock rounds away is not waited for.
            if wait > 0.0005:
                await self._runtime.sleep(wait)
                continue
            self._waiting.popleft()
            if not self._inner.send(frame):
                self._given_up = True
                self._waiting.clear()
        self._carrier = None
