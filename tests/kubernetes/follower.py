"""A running cache and everything that its handler has heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from hanse.kube import Cache, Change, Client, Resource
from hanse.kube.transport import Request, Response, Stream, Transport

_PATIENCE_SECONDS = 30.0
_FOLLOWED = "followed"


def followed(resource: Resource, name: str, namespace: str = "default", **content: object) -> dict[str, object]:
    """Return a manifest that a follower sees; what a cluster makes by itself is out of its scope."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {_FOLLOWED: "yes"}},
        **content,
    }


class Follower:
    """Runs a cache for the length of a block and writes down every change: `+a` came, `~a` changed, `-a` went."""

    def __init__(self, client: Client, resource: Resource, namespace: str = "default") -> None:
        self.cache = Cache(client, resource, namespace=namespace, labels=f"{_FOLLOWED}=yes")
        self.heard: list[str] = []
        self.changes: list[Change] = []
        self._more = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self.cache.subscribe(self._hear)

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self.cache.run())
        await asyncio.wait_for(self.cache.wait_synced(), _PATIENCE_SECONDS)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._running is not None
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)

    async def hears(self, what: str, seconds: float = _PATIENCE_SECONDS) -> list[str]:
        """Wait for a change and return all that was heard; raises AssertionError when it does not come."""
        try:
            async with asyncio.timeout(seconds):
                while what not in self.heard:
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise AssertionError(f"no {what} within {seconds:g} s; heard {self.heard[-20:]}") from None
        return self.heard

    def _hear(self, change: Change) -> None:
        sign = "+" if change.old_bytes is None else "-" if change.new_bytes is None else "~"
        self.heard.append(f"{sign}{change.key.name}")
        self.changes.append(change)
        self._more.set()


class Overheard:
    """A transport that counts how often the server said that a version is too old."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.expiries = 0

    @property
    def address(self) -> str:
        return self._inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        return await self._inner.send(request, timeout)

    async def stream(self, request: Request, timeout: float) -> Stream:
        return _OverheardStream(await self._inner.stream(request, timeout), self)

    async def close(self) -> None:
        await self._inner.close()


class _OverheardStream:
    def __init__(self, inner: Stream, listener: Overheard) -> None:
        self._inner = inner
        self._listener = listener

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            self._listener.expiries += chunk.count(b'"code":410')
            yield chunk

    async def close(self) -> None:
        await self._inner.close()


@asynccontextmanager
async def closing(client: Client) -> AsyncIterator[Client]:
    """Close a client at the end of a block."""
    try:
        yield client
    finally:
        await client.close()
