"""The server on a socket: HTTPS with HTTP/1.1, one request at a time on each connection, watches written directly."""

from __future__ import annotations

import asyncio
import gzip
from urllib.parse import unquote

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from hanse.apiserver import status
from hanse.apiserver.answers import Answer, WatchAnswer
from hanse.apiserver.core import Core
from hanse.apiserver.credentials import ServingCredentials, identity_of_certificate
from hanse.apiserver.dispatch import SIZE_LIMIT, dispatch
from hanse.apiserver.hub import Frame
from hanse.apiserver.identity import ANONYMOUS, Identity
from hanse.apiserver.inprocess import quoted
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
            identity = self._authenticate(request)
            asked = await _read(request)
        except ApiError as error:
            return _respond(Answer(error.code, status.status_body(error)), request)
        answer = await dispatch(self._core, asked, identity)
        if isinstance(answer, WatchAnswer):
            return await self._watch(request, answer)
        return _respond(answer, request)

    def _authenticate(self, request: web.BaseRequest) -> Identity:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            identity = self._core.tokens.get(token.strip())
            if identity is None:
                raise status.unauthorized()
            return identity
        peer = request.get_extra_info("peercert")
        named = identity_of_certificate(peer["subject"]) if peer else None
        return named or ANONYMOUS

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
    if request.headers.get("Content-Encoding") == "gzip":
        body = _inflate(body)
    path, _, _ = request.raw_path.partition("?")
    return Request(
        request.method,
        unquote(path),
        tuple(request.query.items()),
        {name.lower(): value for name, value in request.headers.items()},
        body,
    )


async def _limited(request: web.BaseRequest) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > SIZE_LIMIT:
            raise status.too_large(SIZE_LIMIT)
        parts.append(part)
    return b"".join(parts)


def _inflate(body: bytes) -> bytes:
    try:
        return gzip.decompress(body)
    except (OSError, EOFError):
        raise status.bad_request("the body is not gzip, as its Content-Encoding says") from None


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
