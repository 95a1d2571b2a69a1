"""The listener of virtual nodes' kubelet: who asks is known by certificate, what is asked is passed on, bytes and all.

Written on plain streams: the protocols that exec and port-forward switch to are passed through without being read, so
whatever both API servers understand works.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any, Protocol

from hanse.kube.errors import ApiError, BadRequest, NotFound, ServerError, Unauthorized, error_from_body
from hanse.kube.log import Log
from hanse.kube.transport import Request, Unreachable
from hanse.kube.upgrades import HEAD_LIMIT, BadHead, Head, Upgrades, join, parse_head
from hanse.pods.kubelet.authorization import Caller, caller_of
from hanse.pods.kubelet.finding import Delegate, Placeholder
from hanse.pods.kubelet.keys import KeyRing, Keys
from hanse.pods.kubelet.questions import Question, read_question

_HEAD_SECONDS = 10.0
_ANSWER_SECONDS = 30.0
_AGAIN_SECONDS = 30.0
# What of a request belongs to the protocol that is switched to.
_SWITCHING = (
    "connection",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-protocol",
    "sec-websocket-extensions",
    "x-stream-protocol-version",
)
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found"}

log = Log("hanse")


class Finder(Protocol):
    """Leads from a pod here to the one that runs for it."""

    async def placeholder(self, namespace: str, pod: str) -> Placeholder:
        """Read the pod that was asked about; raises ApiError."""

    async def delegate(self, placeholder: Placeholder) -> Delegate:
        """Return the pod that runs for it; raises ApiError."""


class Gatekeeper(Protocol):
    """Decides who may ask."""

    async def check(self, caller: Caller, method: str, node: str) -> None:
        """Let a caller pass; raises Forbidden."""


class KubeletServer:
    """Answers API servers for the pods of virtual nodes; a port of 0 takes any that is free."""

    def __init__(self, address: str, port: int, ring: KeyRing, find: Finder, gatekeeper: Gatekeeper) -> None:
        self._address = address
        self.port = port
        self._ring = ring
        self._find = find
        self._gatekeeper = gatekeeper
        self._answering: set[asyncio.Task[None]] = set()
        self._keys: Keys | None = None
        self._tried = asyncio.Event()
        self._listening = asyncio.Event()

    async def wait_tried(self) -> bool:
        """Wait until the port is open, or could not be opened (False)."""
        await self._tried.wait()
        return self._keys is not None

    async def wait_listening(self, holds: Callable[[Keys], bool]) -> None:
        """Wait until the port is open with keys of which something holds."""
        while self._keys is None or not holds(self._keys):
            self._listening.clear()
            await self._listening.wait()

    async def run(self) -> None:
        """Listen until cancelled, with other keys as soon as there are others; what is being answered goes on."""
        try:
            while True:
                await self._listen(self._ring.current)
        finally:
            for task in self._answering:
                task.cancel()
            await asyncio.gather(*self._answering, return_exceptions=True)

    async def _listen(self, keys: Keys) -> None:
        """Listen until there are other keys; a port that cannot be opened is tried again, and nothing else suffers."""
        try:
            server = await asyncio.start_server(
                self._accept,
                self._address,
                self.port,
                ssl=keys.tls_context(),
                ssl_handshake_timeout=_HEAD_SECONDS,
                limit=HEAD_LIMIT,
            )
        except OSError as error:
            log.warning("Logs and exec of virtual nodes are unavailable", address=self._address, error=str(error))
            self._tried.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN_SECONDS):
                    await self._ring.wait_other(keys)
            return
        self.port = int(server.sockets[0].getsockname()[1])
        self._keys = keys
        self._tried.set()
        self._listening.set()
        try:
            await self._ring.wait_other(keys)
        finally:
            server.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = parse_head(await reader.readuntil(b"\r\n\r\n"))
            await self._answer(head, reader, writer)
        except BadHead as error:
            await _say(writer, BadRequest(400, "BadRequest", str(error)))
        except (ConnectionError, ssl.SSLError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # Who hangs up, or never says what they want, is owed nothing.
            return
        except Exception:
            log.exception("Answering an API server failed on a bug")
        finally:
            writer.close()

    async def _answer(self, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, target, _ = head.line
        if target.partition("?")[0] == "/healthz":
            await _write(writer, 200, b"ok")
            return
        try:
            question, delegate = await self._consider(method, target, writer)
            if question.streams:
                await _converse(question, delegate, head, reader, writer)
            else:
                await _until_gone(_tell(question, delegate, writer), reader)
        except ApiError as error:
            await _say(writer, error)
        except Unreachable as error:
            await _say(writer, ServerError(500, "InternalError", str(error)))

    async def _consider(self, method: str, target: str, writer: asyncio.StreamWriter) -> tuple[Question, Delegate]:
        """Find out who asks, what about, and whether they may; raises ApiError."""
        caller = caller_of(writer.get_extra_info("peercert"))
        if caller is None:
            told = "a client certificate that this cluster's authority has signed is required"
            raise Unauthorized(401, "Unauthorized", told)
        question = read_question(target) if method in ("GET", "POST") else None
        if question is None:
            raise NotFound(404, "NotFound", "virtual nodes answer for logs, exec, attach and port-forward alone")
        try:
            placeholder = await self._find.placeholder(question.namespace, question.pod)
        except NotFound:
            await self._gatekeeper.check(caller, method, "")
            raise
        await self._gatekeeper.check(caller, method, placeholder.node)
        return question, await self._find.delegate(placeholder)


async def _until_gone(work: Coroutine[Any, Any, None], reader: asyncio.StreamReader) -> None:
    """Work until it is done or whoever asked hangs up: a quiet log would be followed for ever otherwise."""
    telling, hanging_up = asyncio.ensure_future(work), asyncio.ensure_future(reader.read())
    try:
        await asyncio.wait({telling, hanging_up}, return_when=asyncio.FIRST_COMPLETED)
        if telling.done():
            telling.result()
    finally:
        for task in (telling, hanging_up):
            task.cancel()
        await asyncio.gather(telling, hanging_up, return_exceptions=True)


async def _tell(question: Question, delegate: Delegate, writer: asyncio.StreamWriter) -> None:
    """Pass a log on, as it comes."""
    path = question.path(delegate.namespace, delegate.pod)
    request = Request("GET", path, question.query, {"accept": "*/*"})
    stream = await delegate.client.transport.stream(request, _ANSWER_SECONDS)
    try:
        if stream.status != 200:
            raise error_from_body(stream.status, b"".join([chunk async for chunk in stream.chunks()]))
        writer.write(_head(200, "Transfer-Encoding: chunked"))
        await writer.drain()
        await _pass_on(stream.chunks(), writer)
    finally:
        await stream.close()


async def _pass_on(chunks: AsyncIterator[bytes], writer: asyncio.StreamWriter) -> None:
    try:
        async for chunk in chunks:
            if chunk:
                writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                await writer.drain()
    except Unreachable:
        # A body without its end tells the API server that there was more.
        return
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _converse(
    question: Question, delegate: Delegate, head: Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Have the other API server switch protocols as this one was asked to, and pass bytes both ways."""
    if "upgrade" not in head.headers:
        raise BadRequest(400, "BadRequest", f"Upgrade request required for {question.subresource}")
    transport = delegate.client.transport
    if not isinstance(transport, Upgrades):
        raise ServerError(500, "InternalError", f"{transport.address} offers no way to {question.subresource}")
    headers = {name: head.headers[name] for name in _SWITCHING if name in head.headers}
    path = question.path(delegate.namespace, delegate.pod)
    answer = await transport.upgrade(Request(head.line[0], path, question.query, headers), _ANSWER_SECONDS)
    if not answer.switched:
        try:
            raise error_from_body(answer.status, await answer.body())
        finally:
            answer.close()
    writer.write(answer.raw)
    await join((reader, writer), (answer.reader, answer.writer))


async def _say(writer: asyncio.StreamWriter, error: ApiError) -> None:
    await _write(writer, error.code, str(error).encode())


async def _write(writer: asyncio.StreamWriter, code: int, body: bytes) -> None:
    writer.write(_head(code, f"Content-Length: {len(body)}") + body)
    await writer.drain()


def _head(code: int, length: str) -> bytes:
    reason = _REASONS.get(code, "Error")
    return f"HTTP/1.1 {code} {reason}\r\nContent-Type: text/plain\r\n{length}\r\nConnection: close\r\n\r\n".encode()
