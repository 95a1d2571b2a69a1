"""Connections that stop being HTTP: exec, attach and port-forward, whose bytes are passed on as they come.

A request with an `Upgrade` header is answered by 101, and from then on both sides speak something else (WebSockets,
SPDY). Nothing of that is understood here: whoever opened the connection has its bytes.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from urllib.parse import quote, urlencode

from yarl import URL

from hanse.kube.transport import Request, Transport, Unreachable

HEAD_LIMIT = 64 * 1024
_CHUNK = 64 * 1024
_SWITCHING = 101


class BadHead(ValueError):
    """The head of an HTTP message that is none, said in one sentence."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first line of an HTTP message and its headers, names in lower case; those given twice are joined."""

    line: tuple[str, str, str]
    headers: dict[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Upgraded:
    """An answered request: its head as it came, and the connection behind it.

    Where `switched` is false it is an ordinary answer, whose body ends with the connection or its Content-Length.
    """

    status: int
    head: Head
    raw: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def switched(self) -> bool:
        """Whether both sides speak something else now."""
        return self.status == _SWITCHING

    async def body(self) -> bytes:
        """Read the body of an ordinary answer."""
        length = self.head.headers.get("content-length", "")
        if length.isdigit():
            return await self.reader.readexactly(int(length))
        return await self.reader.read()

    def close(self) -> None:
        """Hang up."""
        self.writer.close()


@runtime_checkable
class Upgrades(Protocol):
    """A transport that can open such connections."""

    async def upgrade(self, request: Request, timeout: float) -> Upgraded:
        """Send a request and return when its answer begins; raises Unreachable."""


async def upgrade_over(way: Transport, request: Request, timeout: float) -> Upgraded:
    """Open such a connection over a transport; raises Unreachable, also where it cannot open any."""
    if not isinstance(way, Upgrades):
        raise Unreachable(way.address, "no connection can be opened on this way that stops being HTTP")
    return await way.upgrade(request, timeout)


def parse_head(raw: bytes) -> Head:
    """Read the head of a request or an answer; raises BadHead."""
    try:
        first, *lines = raw.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        one, two, three = (*first.split(" ", 2), "", "")[:3]
    except ValueError:
        raise BadHead("the head of an HTTP message cannot be read") from None
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadHead("a header of an HTTP message has no name")
        key = name.lower()
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return Head((one, two, three), headers)


def request_head(server: URL, request: Request, headers: Sequence[tuple[str, str]]) -> bytes:
    """Write the head of a request to a server."""
    path = quote(server.path.rstrip("/") + request.path, safe="/:@!$&'()*+,;=~-._")
    query = f"?{urlencode(request.query)}" if request.query else ""
    lines = [f"{request.method} {path}{query} HTTP/1.1", f"Host: {server.authority}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if any("\r" in line or "\n" in line for line in lines):
        raise BadHead("a header may not hold a line break")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def open_upgraded(
    server: URL, tls: ssl.SSLContext | None, head: bytes, *, server_name: str = "", proxy: str = ""
) -> Upgraded:
    """Connect to a server, send the head of a request and return when that of its answer has come; raises OSError."""
    reader, writer = await _connect(server, tls, server_name, proxy)
    try:
        writer.write(head)
        await writer.drain()
        raw, answer = await _read_head(reader)
        return Upgraded(int(answer.line[1]), answer, raw, reader, writer)
    except BaseException:
        writer.close()
        raise


async def _connect(
    server: URL, tls: ssl.SSLContext | None, server_name: str, proxy: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = server.host or "", server.port or 443
    name = (server_name or host) if tls is not None else None
    if not proxy:
        return await asyncio.open_connection(host, port, ssl=tls, server_hostname=name, limit=HEAD_LIMIT)
    way = URL(proxy)
    through = ssl.create_default_context() if way.scheme == "https" else None
    reader, writer = await asyncio.open_connection(way.host, way.port, ssl=through, limit=HEAD_LIMIT)
    try:
        writer.write(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        await writer.drain()
        _, answer = await _read_head(reader)
        if not answer.line[1].startswith("2"):
            raise ConnectionError(f"the proxy {way.origin()} answered {' '.join(answer.line[1:])}")
        if tls is not None:
            await writer.start_tls(tls, server_hostname=name)
    except BaseException:
        writer.close()
        raise
    return reader, writer


async def _read_head(reader: asyncio.StreamReader) -> tuple[bytes, Head]:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
        answer = parse_head(raw)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, BadHead) as error:
        raise ConnectionError(f"it does not speak HTTP: {error}") from error
    if not answer.line[1].isdigit():
        raise ConnectionError("it does not speak HTTP: its answer has no status")
    return raw, answer


async def join(
    one: tuple[asyncio.StreamReader, asyncio.StreamWriter], other: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    """Pass bytes both ways until either side ends; then both are closed."""
    ways = [asyncio.create_task(_pass(one[0], other[1])), asyncio.create_task(_pass(other[0], one[1]))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for _, writer in (one, other):
            writer.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    except (ConnectionError, ssl.SSLError):
        # One who hangs up ends the conversation.
        return
