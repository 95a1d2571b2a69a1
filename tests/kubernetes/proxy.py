"""A network between a client and an API server that can be broken in the ways networks break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum, auto
from urllib.parse import urlsplit

_READ_BYTES = 64 * 1024


class Weather(Enum):
    """How the network behaves."""

    FAIR = auto()
    REFUSING = auto()
    SWALLOWING = auto()


class Proxy:
    """Passes bytes to one server, until told otherwise."""

    def __init__(self, server: str) -> None:
        self._target = urlsplit(server)
        self._weather = Weather.FAIR
        self._writers: set[asyncio.StreamWriter] = set()
        self._passes_bytes: int | None = None
        self.url = ""
        self.connections = 0

    def cut(self) -> None:
        """Reset every connection."""
        for writer in list(self._writers):
            writer.transport.abort()

    def cut_after(self, size: int) -> None:
        """Reset every connection once the server has sent that many bytes more, wherever that is in an answer."""
        self._passes_bytes = size

    def refuse(self) -> None:
        """Reset every connection, and every new one too."""
        self._weather = Weather.REFUSING
        self.cut()

    def swallow(self) -> None:
        """Keep connections open and let nothing through, in either direction."""
        self._weather = Weather.SWALLOWING

    def clear(self) -> None:
        """Be a good network again; what was swallowed stays lost, so its connections are reset."""
        if self._weather is Weather.SWALLOWING:
            self.cut()
        self._weather = Weather.FAIR

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one client's connection."""
        if self._weather is Weather.REFUSING:
            writer.transport.abort()
            return
        self.connections += 1
        onward, back = await asyncio.open_connection(self._target.hostname, self._target.port)
        ends = {writer, back}
        self._writers |= ends
        try:
            async with asyncio.TaskGroup() as directions:
                directions.create_task(self._pump(reader, back))
                directions.create_task(self._pump(onward, writer, from_server=True))
        except* OSError:
            # Either side hung up in the middle of something: so does the other.
            pass
        finally:
            self._writers -= ends
            for end in ends:
                end.transport.abort()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, from_server: bool = False
    ) -> None:
        while data := await reader.read(_READ_BYTES):
            if self._weather is Weather.SWALLOWING:
                continue
            if from_server and self._passes_bytes is not None:
                data, self._passes_bytes = data[: self._passes_bytes], self._passes_bytes - len(data)
            writer.write(data)
            await writer.drain()
            if self._passes_bytes is not None and self._passes_bytes <= 0:
                self._passes_bytes = None
                self.cut()
        writer.transport.abort()


@asynccontextmanager
async def proxy_to(server: str) -> AsyncIterator[Proxy]:
    """Run a proxy to an API server for the length of a block; TLS passes through it untouched."""
    proxy = Proxy(server)
    listener = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        listener.close()
        proxy.cut()
        await listener.wait_closed()
