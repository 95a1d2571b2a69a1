"""The least that one can do over HTTP: keep-alive connections, prepared bytes out, answers not looked at.

Nothing here retries, decodes or waits politely, so its pace is what the API server and the machine allow.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable, Iterable
from typing import cast

from yarl import URL

from hanse.kube.kubeconfig import Endpoint

_END_OF_HEAD = b"\r\n\r\n"
# JSON has no bare line breaks, so this can only be the end of a chunked body.
_END_OF_CHUNKS = b"\r\n0\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CONTINUE = re.compile(rb'"continue":"([^"]+)"')
# The list's own metadata comes before its items.
_LIST_HEAD_BYTES = 4096


class RawRefusal(Exception):
    """The server answered something else than success."""


class RawConnection(asyncio.Protocol):
    """One connection that carries one request at a time."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._host = URL(endpoint.server).authority
        self._token = endpoint.token
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        self._on_bytes: Callable[[bytes], None] | None = None

    @classmethod
    async def open(cls, endpoint: Endpoint) -> RawConnection:
        """Connect; the endpoint must sign in by token."""
        url = URL(endpoint.server)
        tls = ssl.create_default_context(cadata=endpoint.ca.decode() if endpoint.ca else None)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: cls(endpoint), str(url.host), int(url.port or 443), ssl=tls
        )
        return connection

    def prepare(self, method: str, target: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
        """Return the bytes of a request, to be sent as they are."""
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: {self._host}\r\nAuthorization: Bearer {self._token}\r\n"
            f"Accept: application/json\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    async def exchange(self, request: bytes) -> bytes:
        """Send prepared bytes and return the answer as it came, head and all; raises RawRefusal."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        answer = await self._answer
        if answer[9:10] != b"2":
            raise RawRefusal(answer[:400].decode(errors="replace"))
        return answer

    def follow(self, request: bytes, on_bytes: Callable[[bytes], None]) -> None:
        """Send a request whose answer does not end, and hand over whatever comes."""
        assert self._transport is not None
        self._on_bytes = on_bytes
        self._transport.write(request)

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The fast loop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._on_bytes is not None:
            self._on_bytes(data)
            return
        self._buffer += data
        if self._is_complete() and self._answer is not None:
            answer, self._buffer = bytes(self._buffer), bytearray()
            self._answer.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError("the server hung up"))

    def _is_complete(self) -> bool:
        if self._buffer.endswith(_END_OF_CHUNKS):
            return True
        head = self._buffer.find(_END_OF_HEAD)
        length = _LENGTH.search(self._buffer, 0, head) if head >= 0 else None
        return length is not None and len(self._buffer) >= head + len(_END_OF_HEAD) + int(length[1])


async def send_all(connections: list[RawConnection], requests: Iterable[bytes]) -> None:
    """Send prepared requests over several connections at once, each as soon as one is free."""
    waiting = iter(requests)

    async def work(connection: RawConnection) -> None:
        for request in waiting:
            await connection.exchange(request)

    await asyncio.gather(*(work(connection) for connection in connections))


async def list_in_chunks(connection: RawConnection, path: str, limit: int) -> int:
    """Read a whole list page by page without decoding it; return its bytes."""
    total, token = 0, ""
    while True:
        rest = f"&continue={token}" if token else ""
        answer = await connection.exchange(connection.prepare("GET", f"{path}?limit={limit}{rest}"))
        total += len(answer)
        found = _CONTINUE.search(answer, 0, _LIST_HEAD_BYTES)
        if found is None:
            return total
        token = found[1].decode()
