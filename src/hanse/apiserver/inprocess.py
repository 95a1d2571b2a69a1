"""A transport without a socket: requests go straight into the server, answers and events straight back."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping

from hanse.apiserver import status
from hanse.apiserver.answers import Answer, AnyAnswer, SessionAnswer, StreamAnswer, WatchAnswer
from hanse.apiserver.core import Core
from hanse.apiserver.dispatch import dispatch
from hanse.apiserver.gate import through_gate
from hanse.apiserver.hub import Frame, Watcher
from hanse.apiserver.identity import Identity
from hanse.kube.transport import Request, Response, Unreachable

# Events that a reader may be behind before its stream is cut.
_BACKLOG = 20_000
_MOST_WARNING_LETTERS, _WARNING_LETTERS = 4096, 256
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class InProcessTransport:
    """A way to a server in the same process, as one user.

    `reachable` says whether the server answers at the moment; while it does not, every call raises Unreachable.
    Without it the transport is a part of the server itself, which no outage cuts off.
    """

    def __init__(self, core: Core, identity: Identity, reachable: Callable[[], bool] | None = None) -> None:
        self._core = core
        self._identity = identity
        self._reachable = reachable
        self._streams: set[InProcessStream] = set()

    @property
    def address(self) -> str:
        return f"in-process:{self._core.name}"

    async def send(self, request: Request, timeout: float) -> Response:
        answer = await self._dispatch(request, timeout)
        if isinstance(answer, WatchAnswer):
            raise Unreachable(self.address, "a watch needs a stream")
        if isinstance(answer, StreamAnswer):
            body = b"".join([chunk async for chunk in answer.chunks])
            return Response(200, {"content-type": answer.content_type}, body)
        return Response(answer.status, _headers(answer), answer.body)

    async def stream(self, request: Request, timeout: float) -> InProcessStream:
        answer = await self._dispatch(request, timeout)
        remote = self._reachable is not None
        if isinstance(answer, Answer):
            stream = InProcessStream(self.address, answer.status, _headers(answer), remote=remote)
            stream.finish(answer.body)
            return stream
        stream = InProcessStream(self.address, 200, {"content-type": answer.content_type}, remote=remote)
        if isinstance(answer, StreamAnswer):
            self._streams.add(stream)
            stream.carry(answer.chunks, self._streams.discard)
            return stream
        watcher = answer.begin(stream)
        self._streams.add(stream)
        stream.follow(self._core, watcher, answer.seconds, self._streams.discard)
        return stream

    async def close(self) -> None:
        for stream in list(self._streams):
            await stream.close()

    async def _dispatch(self, request: Request, timeout: float) -> Answer | WatchAnswer | StreamAnswer:
        self._check()
        try:
            async with asyncio.timeout(timeout):
                enter = dispatch if self._reachable is None else through_gate
                answer: AnyAnswer = await enter(self._core, request, self._identity)
                # A request over a socket lets others run; one in memory may not have waited for anything so far.
                await self._core.runtime.sleep(0)
        except TimeoutError:
            raise Unreachable(self.address, f"no answer within {timeout:g} s") from None
        self._check()
        if isinstance(answer, SessionAnswer):
            refusal = status.bad_request("Upgrade request required")
            return Answer(refusal.code, status.status_body(refusal))
        return answer

    def _check(self) -> None:
        if self._reachable is not None and not self._reachable():
            raise Unreachable(self.address, "connection refused")


def _headers(answer: Answer) -> Mapping[str, str]:
    headers = {"content-type": answer.content_type, **answer.headers}
    if warnings := warning_headers(answer.warnings):
        headers["warning"] = ", ".join(warnings)
    return headers


def warning_headers(warnings: Iterable[str]) -> list[str]:
    """Return the headers that tell warnings; as upstream, one with control characters is left out: none can tell it."""
    told = [text for text in dict.fromkeys(warnings) if not _CONTROL.search(text)]
    if sum(map(len, told)) > _MOST_WARNING_LETTERS:
        # Clients bound how many headers they read, and how long ones.
        told = [text[:_WARNING_LETTERS] for text in told][: _MOST_WARNING_LETTERS // _WARNING_LETTERS]
    return ['299 - "{}"'.format(text.replace("\\", "\\\\").replace('"', '\\"')) for text in told]


class InProcessStream:
    """A stream whose events wait in memory until they are read."""

    def __init__(self, address: str, status: int, headers: Mapping[str, str], *, remote: bool) -> None:
        self.remote = remote
        self._address = address
        self._status = status
        self._headers = headers
        self._waiting: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self._ended = False
        self._broken = False
        self._release: Callable[[], None] | None = None
        self._timer: asyncio.Task[None] | None = None

    @property
    def status(self) -> int:
        return self._status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._headers

    def send(self, frame: Frame) -> bool:
        """Take an event; False when the reader is too far behind."""
        if len(self._waiting) >= _BACKLOG:
            return False
        self._waiting.append(frame.line)
        self._wake.set()
        return True

    def end(self, *, broken: bool) -> None:
        """Finish the stream after what is already waiting; a broken one loses that."""
        self._ended = True
        self._broken = self._broken or broken
        if broken:
            self._waiting.clear()
        self._let_go()
        self._wake.set()

    def finish(self, body: bytes) -> None:
        """Make the stream a complete answer."""
        if body:
            self._waiting.append(body)
        self.end(broken=False)

    def follow(self, core: Core, watcher: Watcher, seconds: float, discard: Callable[[InProcessStream], None]) -> None:
        """Tie the stream to its watch: it ends after its time, and the watch ends with it."""
        if self._ended:
            discard(self)
            return

        def release() -> None:
            core.hub.remove(watcher)
            discard(self)

        async def expire() -> None:
            await core.runtime.sleep(seconds)
            if watcher.bookmarks and not self._ended:
                core.hub.send_bookmark(watcher, core.storage.revision)
            self._timer = None
            self.end(broken=False)

        self._release = release
        self._timer = asyncio.create_task(expire())

    def carry(self, chunks: AsyncIterator[bytes], discard: Callable[[InProcessStream], None]) -> None:
        """Tie the stream to pieces that arrive from elsewhere; it ends with them, and they with it."""

        async def pass_on() -> None:
            async for chunk in chunks:
                self._waiting.append(chunk)
                self._wake.set()
            self._timer = None
            self.end(broken=False)

        self._release = lambda: discard(self)
        self._timer = asyncio.create_task(pass_on())

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            if self._ended:
                break
            self._wake.clear()
            await self._wake.wait()
        if self._broken:
            raise Unreachable(self._address, "the stream was cut")

    async def close(self) -> None:
        self._ended = True
        self._waiting.clear()
        self._let_go()
        self._wake.set()

    def _let_go(self) -> None:
        release, self._release = self._release, None
        if release is not None:
            release()
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
