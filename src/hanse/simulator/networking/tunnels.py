"""The way from a real API server into the made-up network of pods: what its egress selector calls HTTPConnect.

A kube-apiserver dials pods by their addresses, which nobody has here. With `--egress-selector-config-file` it dials
them, and all else that it takes for a part of the cluster, through a socket; behind that, addresses of pods are
answered with the page of the pod, and all others are dialled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

from hanse.kube.manifest import Key
from hanse.kube.transport import Request, Response

_LONGEST_HEAD_BYTES = 64 * 1024
_PATIENCE_SECONDS = 30.0
_PIECE_BYTES = 64 * 1024

# The pod at an address; None where it is nobody's.
PodAt = Callable[[str], Key | None]
# Namespace, pod, port and request; raises OSError where nothing listens.
Page = Callable[[str, str, str, Request], Awaitable[Response]]


class Tunnels:
    """The listener at a Unix socket; make one with `open`."""

    def __init__(self, pod_at: PodAt, page: Page) -> None:
        self._pod_at = pod_at
        self._page = page
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @classmethod
    async def open(cls, socket: Path, pod_at: PodAt, page: Page) -> Tunnels:
        """Listen at a socket."""
        made = cls(pod_at, page)
        made._server = await asyncio.start_unix_server(made._serve, socket, limit=_LONGEST_HEAD_BYTES)
        return made

    async def close(self) -> None:
        """Stop listening and hang up on everybody."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            host, port = _target(await _head(reader))
            pod = self._pod_at(host)
            if pod is None:
                await _relay(host, port, reader, writer)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await self._answer(pod, port, reader, writer)
        except (OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # Who does not speak the protocol, or hangs up, is told nothing.
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _answer(self, pod: Key, port: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request as the pod would."""
        method, path = (await _head(reader)).split(" ")[:2]
        try:
            answer = await self._page(pod.namespace, pod.name, port, Request(method, path.partition("?")[0]))
        except OSError as error:
            answer = Response(HTTPStatus.BAD_GATEWAY, {"content-type": "text/plain"}, f"{error}\n".encode())
        head = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
        head += [f"{name}: {value}" for name, value in answer.headers.items()]
        head += [f"content-length: {len(answer.body)}", "connection: close"]
        body = b"" if method == "HEAD" else answer.body
        writer.write("\r\n".join([*head, "\r\n"]).encode() + body)
        await writer.drain()


async def _head(reader: asyncio.StreamReader) -> str:
    """Return the head of a request."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")


def _target(head: str) -> tuple[str, str]:
    """Return the host and the port of `CONNECT HOST:PORT`; raises ValueError."""
    method, address, *_ = head.split(" ")
    host, _, port = address.rpartition(":")
    if method != "CONNECT" or not port.isdecimal():
        raise ValueError(f"not a tunnel: {head[:100]}")
    return host.strip("[]"), port


async def _relay(host: str, port: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Dial what is not a pod, and pass bytes both ways until either side ends."""
    try:
        there, here = await asyncio.open_connection(host, int(port))
    except OSError as error:
        writer.write(f"HTTP/1.1 502 Bad Gateway\r\n\r\n{error}".encode())
        await writer.drain()
        return
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    ways = [asyncio.create_task(_pass(reader, here)), asyncio.create_task(_pass(there, writer))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        here.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(_PIECE_BYTES):
            writer.write(piece)
            await writer.drain()
