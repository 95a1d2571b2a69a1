"""Control planes of a random world as processes: each can die at any request, and stand still as under SIGSTOP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from hanse.cli.control_plane import campaign, run_control_plane
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Request, Response, Stream, Transport, Unreachable
from tests.simulation.random_truth import HOST
from tests.simulation.tally import note_fault

T = TypeVar("T")
WRITES = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(slots=True)
class Life:
    """One life of a control plane: it ends at a request, before that is sent or before its answer is heard."""

    end: Callable[[], None]
    requests: int = 0
    ends_at: int | None = None
    after: bool = False
    dead: bool = False

    def is_due(self) -> bool:
        """Count a request; True for the one at which life ends."""
        self.requests += 1
        return self.ends_at is not None and self.requests >= self.ends_at


class Standstill:
    """Whether a process is stopped; what is in it goes on when the process does."""

    def __init__(self) -> None:
        self._going = asyncio.Event()
        self._going.set()

    @property
    def stopped(self) -> bool:
        """Whether the process stands still."""
        return not self._going.is_set()

    def begin(self) -> None:
        """Stop the process."""
        note_fault("standstill")
        self._going.clear()

    def end(self) -> None:
        """Let the process go on."""
        self._going.set()

    async def over(self) -> None:
        """Wait until the process goes on."""
        await self._going.wait()


class StoppableClock:
    """The clock of a process: its time passes while the process stands still, and nobody in it wakes up."""

    def __init__(self, inner: Runtime, standstill: Standstill) -> None:
        self._inner = inner
        self._standstill = standstill

    def now(self) -> float:
        return self._inner.now()

    def monotonic(self) -> float:
        return self._inner.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)
        await self._standstill.over()

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


class Mortal:
    """A transport of a control plane, through which nothing passes once it is dead, and while it stands still."""

    def __init__(self, inner: Transport, life: Life, standstill: Standstill, note: Callable[[Request], None]) -> None:
        self._inner = inner
        self._life = life
        self._standstill = standstill
        self._note = note

    @property
    def address(self) -> str:
        return self._inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        due = self._begin()
        if self._standstill.stopped:
            await self._standstill.over()
            if request.method in WRITES:
                # It was never sent: whatever was checked before it has to be checked again.
                raise Unreachable(self.address, "whoever asked stood still")
        self._note(request)
        if due and not self._life.after:
            self._die()
        response = await self._inner.send(request, timeout)
        if due:
            self._die()
        await self._standstill.over()
        return response

    async def stream(self, request: Request, timeout: float) -> Stream:
        if self._begin():
            self._die()
        stream = await self._inner.stream(request, timeout)
        await self._standstill.over()
        return HaltingStream(stream, self._standstill)

    async def close(self) -> None:
        await self._inner.close()

    def _begin(self) -> bool:
        if self._life.dead:
            raise Unreachable(self.address, "whoever asked is dead")
        return self._life.is_due()

    def _die(self) -> None:
        # Several of its requests may be under way.
        if not self._life.dead:
            note_fault("death")
        self._life.dead = True
        self._life.end()
        raise Unreachable(self.address, "whoever asked has just died")


class HaltingStream:
    """A stream of which a process hears nothing while it stands still."""

    def __init__(self, inner: Stream, standstill: Standstill) -> None:
        self._inner = inner
        self._standstill = standstill

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            await self._standstill.over()
            yield chunk

    async def close(self) -> None:
        await self._inner.close()


class Plane:
    """One control plane process. With `campaigns` it works only while it holds the Lease."""

    def __init__(
        self,
        identity: str,
        clock: Runtime,
        reach: Callable[[str], Transport],
        note: Callable[[str, str, Request], None],
        *,
        campaigns: bool = False,
    ) -> None:
        """`reach` connects to a server by its cluster's name; `note` hears who sends what to which of them."""
        self.identity = identity
        self.standstill = Standstill()
        self.life = Life(lambda: None)
        self._clock = StoppableClock(clock, self.standstill)
        self._reach = reach
        self._note = note
        self._campaigns = campaigns
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start it with nothing but what the servers hold."""
        life = self.life = Life(self._end)
        self.standstill.end()

        def way_to(name: str) -> Transport:
            return Mortal(
                self._reach(name), life, self.standstill, lambda request: self._note(self.identity, name, request)
            )

        host = Client(way_to(HOST), self._clock)
        self._task = asyncio.create_task(
            self._work(host, lambda endpoint: way_to(endpoint.server.removeprefix("https://")))
        )

    async def _work(self, host: Client, connect: Callable[[Endpoint], Transport]) -> None:
        if not self._campaigns:
            await run_control_plane(host, connect=connect)
            return
        while True:
            await campaign(host, self.identity, connect=connect)

    @property
    def alive(self) -> bool:
        """Whether it lives, be it that it stands still."""
        return self._task is not None and not self._task.done() and not self.life.dead

    def doom(self, requests: int, *, after: bool) -> None:
        """Let it die so many requests from now on: before the last is sent, or before its answer is heard."""
        self.life.ends_at, self.life.after = self.life.requests + requests, after

    async def bury(self) -> BaseException | None:
        """Wait for the end of a dead life; returns what ended one that was not meant to end."""
        task, self._task = self._task, None
        self.standstill.end()
        if task is None:
            return None
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        if self.life.dead:
            return None
        return ended if isinstance(ended, BaseException) else RuntimeError("it returned")

    async def kill(self) -> None:
        """End it at once."""
        self.life.dead = True
        self._end()
        await self.bury()

    def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()
