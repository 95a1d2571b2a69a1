"""An API server in a few lines that has any number of Deployments and costs nothing to run.

It answers chunked lists from generated pages and keeps watches open, so that a cache can be measured alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from bench.kube.deployments import live_deployment
from hanse.kube.transport import Request, Response

_FIRST_VERSION = 1_000
_EVENTS_A_READ = 64
_NO_STREAMING_LIST = (
    b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":'
    b'"sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is '
    b'enabled"}'
)


def _as_created(number: int) -> bytes:
    return live_deployment(number, _FIRST_VERSION + number)


class GeneratedDeployments:
    """A transport to a server that holds `count` Deployments of 4 KB, made when asked for or all beforehand."""

    def __init__(self, count: int, *, prepared: bool = False) -> None:
        self._count = count
        self._prepared = [_as_created(number) for number in range(count)] if prepared else []
        self._version = _FIRST_VERSION + count
        self._watches: list[GeneratedWatch] = []
        self.watched = asyncio.Event()

    @property
    def address(self) -> str:
        return "https://generated"

    async def send(self, request: Request, timeout: float) -> Response:
        query = dict(request.query)
        start = int(query.get("continue", 0))
        end = min(self._count, start + int(query.get("limit", self._count)))
        return Response(200, {"content-type": "application/json"}, self._page(start, end))

    async def stream(self, request: Request, timeout: float) -> GeneratedWatch:
        if ("sendInitialEvents", "true") in request.query:
            return GeneratedWatch(422, _NO_STREAMING_LIST)
        watch = GeneratedWatch(200)
        self._watches.append(watch)
        self.watched.set()
        return watch

    async def close(self) -> None:
        for watch in self._watches:
            await watch.close()

    def change(self, number: int) -> None:
        """Give one Deployment a new image and tell every watch."""
        self._version += 1
        event = b'{"type":"MODIFIED","object":%b}\n' % live_deployment(number, self._version)
        for watch in self._watches:
            watch.push(event)

    def _page(self, start: int, end: int) -> bytes:
        made = self._prepared[start:end] or (_as_created(number) for number in range(start, end))
        rest = b',"continue":"%d"' % end if end < self._count else b""
        head = b'{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"%d"%b},"items":['
        return b"".join((head % (self._version, rest), b",".join(made), b"]}"))


class GeneratedWatch:
    """A watch that stays open until it is closed, or a refusal that ends at once."""

    def __init__(self, status: int, refusal: bytes = b"") -> None:
        self.status = status
        self._unread = [refusal] if refusal else []
        self._open = not refusal
        self._arrived = asyncio.Event()

    @property
    def headers(self) -> Mapping[str, str]:
        return {"content-type": "application/json"}

    def push(self, chunk: bytes) -> None:
        """Have the reader find a chunk."""
        self._unread.append(chunk)
        self._arrived.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        while self._open or self._unread:
            if not self._unread:
                self._arrived.clear()
                await self._arrived.wait()
                continue
            # A socket gives at once what has arrived, up to the size of its buffer.
            chunk = b"".join(self._unread[:_EVENTS_A_READ])
            del self._unread[:_EVENTS_A_READ]
            yield chunk

    async def close(self) -> None:
        self._open = False
        self._arrived.set()
