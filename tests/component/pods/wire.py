"""A keeper's way to an API server in memory, which takes down what it writes."""

from __future__ import annotations

from collections.abc import Callable

from hanse.apiserver import Identity
from hanse.kube.transport import Request, Response, Stream, Transport

ADMINISTRATOR = Identity("admin", ("system:masters",))


class Wire:
    """A transport that remembers what was written through it; `before_write` may raise to cut it."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.writes: list[tuple[str, str]] = []
        self.before_write: Callable[[Request], None] = lambda _request: None

    @property
    def address(self) -> str:
        return self._inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        if request.method != "GET":
            self.before_write(request)
            self.writes.append((request.method, request.path))
        return await self._inner.send(request, timeout)

    async def stream(self, request: Request, timeout: float) -> Stream:
        return await self._inner.stream(request, timeout)

    async def close(self) -> None:
        await self._inner.close()
