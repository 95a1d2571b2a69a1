"""A server of controllers' way to its cluster, on which everything can go wrong that does between two machines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import orjson

from hanse.kube.runtime import Runtime
from hanse.kube.transport import Request, Response, Stream, Transport, Unreachable
from tests.simulation.composite.random_judge import CompositeJudge
from tests.simulation.random_objects import Chance
from tests.simulation.tally import note_fault
from tests.simulation.world import WRITES

_EXPIRED = orjson.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}) + b"\n"


class Weather:
    """What is wrong at this time, for all servers of controllers."""

    def __init__(self) -> None:
        # The share of writes that fail, how long requests take, how late events come, and a dirty trick on deletions.
        self.failing = 0.0
        self.latency = 0.0
        self.lag = 0.0
        self.ambush: Callable[[Request], Awaitable[None]] | None = None


class RandomWire:
    """A transport behind a weather, which ends with its server's life."""

    def __init__(
        self, name: str, inner: Transport, runtime: Runtime, chance: Chance, weather: Weather, judge: CompositeJudge
    ) -> None:
        self.name = name
        self._inner = inner
        self._runtime = runtime
        self._chance = chance
        self._weather = weather
        self._judge = judge
        self._streams: list[_Watched] = []
        # So many writes from now on it dies, before the last is sent or before its answer is heard.
        self.doom: int | None = None
        self.dies_after = False
        self.dies: Callable[[], object] = lambda: None

    @property
    def address(self) -> str:
        return self._inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        if self._weather.latency:
            await self._runtime.sleep(self._chance.between(0.0, self._weather.latency))
        if request.method not in WRITES:
            return await self._read(request, timeout)
        trouble = self._trouble(request)
        if trouble in _REFUSALS:
            return _REFUSALS[trouble]
        if trouble == "unsent":
            raise Unreachable(self.address, "the connection was refused")
        await self._die_if_due(after=False)
        if self._weather.ambush is not None and request.method == "DELETE":
            await self._weather.ambush(request)
        answer = await self._carried_out(request, timeout)
        await self._die_if_due(after=True)
        if trouble == "unheard":
            raise Unreachable(self.address, "the answer was lost")
        return answer

    async def _read(self, request: Request, timeout: float) -> Response:
        if self._chance.happens(self._weather.failing / 2):
            raise Unreachable(self.address, "the connection was reset")
        answer = await self._inner.send(request, timeout)
        if answer.status == 200 and "/things/" in request.path:
            self._judge.looked(self.name, orjson.loads(answer.body))
        return answer

    def _trouble(self, request: Request) -> str:
        if not self._chance.happens(self._weather.failing):
            return ""
        troubles = ["429", "500", "503", "unsent", "unheard", "unheard"]
        return self._chance.one_of(troubles if request.method == "POST" else [*troubles, "409"])

    async def _carried_out(self, request: Request, timeout: float) -> Response:
        about = self._judge.before(request)
        answer = await self._inner.send(request, timeout)
        if answer.status < 300 and about is not None:
            self._judge.carried_out(self.name, request, *about)
        return answer

    async def _die_if_due(self, *, after: bool) -> None:
        if self.doom is None or after is not self.dies_after:
            return
        self.doom -= 1
        if self.doom < 0:
            note_fault("death")
            self.dies()
            await asyncio.Event().wait()

    async def stream(self, request: Request, timeout: float) -> Stream:
        watched = _Watched(await self._inner.stream(request, timeout), self._runtime, self._weather)
        self._streams = [each for each in self._streams if not each.closed]
        self._streams.append(watched)
        return watched

    def expire(self) -> None:
        """Have every watch told that what it knows is too old."""
        for stream in self._streams:
            stream.expired = True

    async def close(self) -> None:
        await self._inner.close()


class _Watched:
    """A watch whose events may come late, or end in an error."""

    def __init__(self, inner: Stream, runtime: Runtime, weather: Weather) -> None:
        self._inner = inner
        self._runtime = runtime
        self._weather = weather
        self.expired = False
        self.closed = False

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            if self._weather.lag:
                await self._runtime.sleep(self._weather.lag)
            if self.expired:
                yield _EXPIRED
                return
            yield chunk

    async def close(self) -> None:
        self.closed = True
        await self._inner.close()


def _refusal(code: int, reason: str, **headers: str) -> Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": reason,
    }
    return Response(code, {"content-type": "application/json", **headers}, orjson.dumps(body))


_REFUSALS = {
    "429": _refusal(429, "TooManyRequests", **{"retry-after": "1"}),
    "409": _refusal(409, "Conflict"),
    "500": _refusal(500, "InternalError"),
    "503": _refusal(503, "ServiceUnavailable"),
}
