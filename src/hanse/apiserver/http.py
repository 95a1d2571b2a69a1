"""The server on a socket: HTTPS with HTTP/1.1, one request at a time on each connection, watches written directly."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncGenerator
from urllib.parse import unquote

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from hanse.apiserver import status
from hanse.apiserver.answers import Answer, SessionAnswer, StreamAnswer, WatchAnswer
from hanse.apiserver.authentication import authenticate
from hanse.apiserver.core import Core
from hanse.apiserver.credentials import ServingCredentials
from hanse.apiserver.cutting import cut, unread_bytes
from hanse.apiserver.dispatch import SIZE_LIMIT
from hanse.apiserver.gate import through_gate
from hanse.apiserver.hub import Frame
from hanse.apiserver.impersonation import REPEATED
from hanse.apiserver.inprocess import warning_headers
from hanse.apiserver.patience import Patience, Unread, look_at
from hanse.apiserver.streaming.websocket import hold_session
from hanse.kube.errors import ApiError
from hanse.kube.server_log import SERVER_LOG
from hanse.kube.transport import Request

# Answers shorter than this are not worth compressing, as upstream decides.
_GZIP_FROM = 128 * 1024
# Larger answers are sent in pieces of this size.
_PIECE_BYTES = 256 * 1024
# Bytes that a watch may leave unread in its socket before it is cut.
_UNREAD_LIMIT = 8 * 1024 * 1024


class Listener:
    """One listening socket of a server."""

    def __init__(self, core: Core, host: str, patience: Patience) -> None:
        self._core = core
        self._host = host
        self._patience = patience
        # The timeout runs from the start of a connection on, and a header that trickles does not renew it.
        self._handler = web.Server(
            self._handle,
            access_log=None,
            logger=SERVER_LOG,
            keepalive_timeout=patience.header_seconds,
            handler_cancellation=True,
        )
        self._server: asyncio.Server | None = None
        self._watchman: asyncio.Task[None] | None = None
        self.port = 0

    @classmethod
    async def open(
        cls, core: Core, *, host: str, port: int, credentials: ServingCredentials, patience: Patience
    ) -> Listener:
        """Listen; a port of 0 takes any that is free."""
        listener = cls(core, host, patience)
        loop = asyncio.get_running_loop()
        listener._server = await loop.create_server(
            listener._handler, host, port, ssl=credentials.tls_context(), reuse_address=True
        )
        listener.port = int(listener._server.sockets[0].getsockname()[1])
        listener._watchman = asyncio.create_task(listener._cut_who_do_not_read())
        return listener

    @property
    def url(self) -> str:
        """The address for a kubeconfig."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"https://{host}:{self.port}"

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._handler.connections)

    async def close(self) -> None:
        """Stop listening and drop every connection at once."""
        if self._watchman is not None:
            self._watchman.cancel()
        if self._server is not None:
            self._server.close()
        for connection in list(self._handler.connections):
            cut(connection.transport)
        # A timeout of 0 would mean to wait without end.
        await self._handler.shutdown(timeout=0.1)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            peer = request.get_extra_info("peercert")
            identity = authenticate(self._core, request.headers.get("Authorization", ""), peer)
            asked = await self._read(request)
        except ApiError as error:
            return _respond(Answer(error.code, status.status_body(error)), request)
        answer = await through_gate(self._core, asked, identity)
        if isinstance(answer, WatchAnswer):
            return await self._watch(request, answer)
        if isinstance(answer, StreamAnswer):
            return await self._stream(request, answer)
        if isinstance(answer, SessionAnswer):
            return await self._converse(request, answer)
        response = _respond(answer, request)
        large = len(answer.body) > _PIECE_BYTES and request.method != "HEAD"
        return await self._send_in_pieces(request, response) if large else response

    async def _read(self, request: web.BaseRequest) -> Request:
        try:
            async with asyncio.timeout(self._patience.body_seconds):
                return await _read(request)
        except TimeoutError:
            seconds = f"{self._patience.body_seconds:g}"
            raise status.failure(408, "Timeout", f"the body did not arrive within {seconds} seconds") from None

    async def _cut_who_do_not_read(self) -> None:
        """Give up connections whose clients take nothing of what waits for them."""
        loop, limit = asyncio.get_running_loop(), self._patience.unread_seconds
        waiting: dict[asyncio.Transport, Unread] = {}
        while True:
            await asyncio.sleep(limit / 6)
            transports = (connection.transport for connection in self._handler.connections)
            sizes = {one: unread_bytes(one) for one in transports if one is not None}
            waiting = look_at(waiting, sizes, loop.time())
            for transport, unread in waiting.items():
                if loop.time() - unread.since >= limit:
                    cut(transport)

    async def _converse(self, request: web.BaseRequest, answer: SessionAnswer) -> web.StreamResponse:
        try:
            return await hold_session(request, answer.protocols, answer.converse)
        except ApiError as error:
            return _respond(Answer(error.code, status.status_body(error)), request)

    async def _watch(self, request: web.BaseRequest, answer: WatchAnswer) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": answer.content_type, "Cache-Control": "no-cache, private"}
        )
        response.enable_chunked_encoding()
        writer = await response.prepare(request)
        transport = request.transport
        if writer is None or transport is None:
            return response
        # The head is sent with the first chunk otherwise; a quiet watch must be seen to have begun.
        _send_head(writer)
        sink = _SocketSink(transport)
        watcher = answer.begin(sink)
        try:
            async with asyncio.timeout(None) as limit:
                limit.reschedule(asyncio.get_running_loop().time() + answer.seconds)
                await sink.ended.wait()
        except TimeoutError:
            if watcher.bookmarks:
                self._core.hub.send_bookmark(watcher, self._core.storage.revision)
        finally:
            self._core.hub.remove(watcher)
        if not sink.broken:
            await response.write_eof()
        return response

    async def _stream(self, request: web.BaseRequest, answer: StreamAnswer) -> web.StreamResponse:
        headers = {"Content-Type": answer.content_type, "Cache-Control": "no-cache, private"}
        response = web.StreamResponse(headers=headers)
        response.enable_chunked_encoding()
        writer = await response.prepare(request)
        if writer is not None:
            _send_head(writer)
        try:
            async for chunk in answer.chunks:
                if not await self._send(request, response, chunk):
                    return response
        finally:
            # A follower that has gone must not keep what it followed.
            if isinstance(answer.chunks, AsyncGenerator):
                await answer.chunks.aclose()
        await response.write_eof()
        return response

    async def _send_in_pieces(self, request: web.BaseRequest, whole: web.Response) -> web.StreamResponse:
        """Send a large answer as its client takes it: what was sent at once would wait where nobody can see it."""
        body = whole.body
        if not isinstance(body, bytes):
            return whole
        response = web.StreamResponse(status=whole.status, headers=whole.headers)
        response.content_length = len(body)
        await response.prepare(request)
        view = memoryview(body)
        for start in range(0, len(body), _PIECE_BYTES):
            if not await self._send(request, response, view[start : start + _PIECE_BYTES]):
                return response
        await response.write_eof()
        return response

    async def _send(self, request: web.BaseRequest, response: web.StreamResponse, piece: bytes | memoryview) -> bool:
        """Send a piece of an answer; False when its client has taken nothing for too long and was given up."""
        try:
            async with asyncio.timeout(self._patience.unread_seconds):
                await response.write(piece)
        except TimeoutError:
            cut(request.transport)
            return False
        except ConnectionResetError:
            # Its client has gone.
            return False
        return True


def _send_head(writer: AbstractStreamWriter) -> None:
    writer.send_headers()


class _SocketSink:
    """Writes framed events straight to a connection's transport."""

    remote = True

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.ended = asyncio.Event()
        self.broken = False

    def send(self, frame: Frame) -> bool:
        if self._transport.is_closing():
            return False
        self._transport.write(frame.chunk)
        return unread_bytes(self._transport) <= _UNREAD_LIMIT

    def end(self, *, broken: bool) -> None:
        if broken:
            self.broken = True
            cut(self._transport)
        self.ended.set()


async def _read(request: web.BaseRequest) -> Request:
    length = request.content_length
    if length is not None and length > SIZE_LIMIT:
        raise status.too_large(SIZE_LIMIT)
    body = b""
    if request.body_exists:
        body = await _limited(request)
    path, _, _ = request.raw_path.partition("?")
    return Request(
        request.method,
        unquote(_readable(path)),
        tuple((_readable(name), _readable(value)) for name, value in request.query.items()),
        _headers(request),
        body,
    )


def _readable(text: str) -> str:
    """Return text without what stands for bytes that are no UTF-8: it can be neither stored nor told again."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _headers(request: web.BaseRequest) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        name, value = name.lower(), _readable(value)
        # Who is impersonated may be said in several headers of one name, each of which is one value.
        headers[name] = f"{headers[name]}{REPEATED}{value}" if name in headers and name.startswith("imp") else value
    return headers


async def _limited(request: web.BaseRequest) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        # A body that came compressed is unpacked on the way, and its limit holds for what it unpacks to.
        async for part in request.content.iter_any():
            size += len(part)
            if size > SIZE_LIMIT:
                raise status.too_large(SIZE_LIMIT)
            parts.append(part)
    except web.RequestPayloadError:
        raise status.bad_request("the body of the request could not be read as its headers say") from None
    return b"".join(parts)


def _respond(answer: Answer, request: web.BaseRequest) -> web.Response:
    headers: dict[str, str] = {"Cache-Control": "no-cache, private", "Content-Type": answer.content_type}
    headers.update(answer.headers)
    body = answer.body
    if len(body) >= _GZIP_FROM and "gzip" in request.headers.get("Accept-Encoding", ""):
        body = gzip.compress(body, compresslevel=1)
        headers["Content-Encoding"] = "gzip"
        headers["Vary"] = "Accept-Encoding"
    response = web.Response(status=answer.status, body=body, headers=headers)
    for warning in warning_headers(answer.warnings):
        response.headers.add("Warning", warning)
    return response
