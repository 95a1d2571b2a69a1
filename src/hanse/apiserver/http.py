"""The server on a socket: HTTPS with HTTP/1.1, one request at a time on each connection, watches written directly."""

from __future__ import annotations

import asyncio
import gzip
from urllib.parse import unquote

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from hanse.apiserver import status
from hanse.apiserver.answers import Answer, SessionAnswer, StreamAnswer, WatchAnswer
from hanse.apiserver.authentication import authenticate
from hanse.apiserver.core import Core
from hanse.apiserver.credentials import ServingCredentials
from hanse.apiserver.dispatch import SIZE_LIMIT, dispatch
from hanse.apiserver.hub import Frame
from hanse.apiserver.impersonation import REPEATED
from hanse.apiserver.inprocess import quoted
from hanse.apiserver.streaming.websocket import hold_session
from hanse.kube.errors import ApiError
from hanse.kube.transport import Request

# Answers shorter than this are not worth compressing, as upstream decides.
_GZIP_FROM = 128 * 1024
# Bytes that a watch may leave unread in its socket before it is cut.
_UNREAD_LIMIT = 8 * 1024 * 1024


class Listener:
    """One listening socket of a server."""

    def __init__(self, core: Core, host: str) -> None:
        self._core = core
        self._host = host
        self._handler = web.Server(self._handle, access_log=None, keepalive_timeout=75.0, handler_cancellation=True)
        self._server: asyncio.Server | None = None
        self.port = 0

    @classmethod
    async def open(cls, core: Core, *, host: str, port: int, credentials: ServingCredentials) -> Listener:
        """Listen; a port of 0 takes any that is free."""
        listener = cls(core, host)
        loop = asyncio.get_running_loop()
        listener._server = await loop.create_server(
            listener._handler, host, port, ssl=credentials.tls_context(), reuse_address=True
        )
        listener.port = int(listener._server.sockets[0].getsockname()[1])
        return listener

    @property
    def url(self) -> str:
        """The address for a kubeconfig."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"https://{host}:{self.port}"

    async def close(self) -> None:
        """Stop listening and drop every connection at once."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._handler.connections):
            if connection.transport is not None:
                connection.transport.abort()
        # A timeout of 0 would mean to wait without end.
        await self._handler.shutdown(timeout=0.1)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            peer = request.get_extra_info("peercert")
            identity = authenticate(self._core, request.headers.get("Authorization", ""), peer)
            asked = await _read(request)
        except ApiError as error:
            return _respond(Answer(error.code, status.status_body(error)), request)
        answer = await dispatch(self._core, asked, identity)
        if isinstance(answer, WatchAnswer):
            return await self._watch(request, answer)
        if isinstance(answer, StreamAnswer):
            return await _stream(request, answer)
        if isinstance(answer, SessionAnswer):
            return await self._converse(request, answer)
        return _respond(answer, request)

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


async def _stream(request: web.BaseRequest, answer: StreamAnswer) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": answer.content_type, "Cache-Control": "no-cache, private"})
    response.enable_chunked_encoding()
    writer = await response.prepare(request)
    if writer is not None:
        _send_head(writer)
    async for chunk in answer.chunks:
        await response.write(chunk)
    await response.write_eof()
    return response


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
        return self._transport.get_write_buffer_size() <= _UNREAD_LIMIT

    def end(self, *, broken: bool) -> None:
        if broken:
            self.broken = True
            self._transport.abort()
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
        unquote(path),
        tuple(request.query.items()),
        _headers(request),
        body,
    )


def _headers(request: web.BaseRequest) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        name = name.lower()
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
    for warning in answer.warnings:
        response.headers.add("Warning", f'299 - "{quoted(warning)}"')
    return response
