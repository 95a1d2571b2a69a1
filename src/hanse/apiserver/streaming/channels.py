"""Exec and attach over numbered channels: the protocols v4.channel.k8s.io and v5.channel.k8s.io.

Each message begins with its channel: 0 input, 1 output, 2 error output, 3 how it ended (a Status), 4 the terminal's
size. In v5 a message on channel 255 closes the channel that it names, which is how input ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import orjson

from hanse.apiserver.streaming.messages import Messages
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_STDIN, _STDOUT, _STDERR, _ENDED, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255


@dataclass(frozen=True, slots=True)
class Wish:
    """What an exec or attach asks for."""

    namespace: str
    pod: str
    container: str
    command: tuple[str, ...] = ()
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


@dataclass(slots=True)
class ChannelSession:
    """A running command's side of the channels; see `hanse.apiserver.pod_doors.PodSession`."""

    wish: Wish
    messages: Messages
    terminal_size: tuple[int, int] | None = None
    _typed: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    _ended: bool = False

    @property
    def namespace(self) -> str:
        return self.wish.namespace

    @property
    def pod(self) -> str:
        return self.wish.pod

    @property
    def container(self) -> str:
        return self.wish.container

    @property
    def command(self) -> tuple[str, ...]:
        return self.wish.command

    @property
    def tty(self) -> bool:
        return self.wish.tty

    async def read(self) -> bytes:
        if not self.wish.stdin or (self._ended and self._typed.empty()):
            return b""
        data = await self._typed.get()
        self._ended = self._ended or not data
        return data

    async def write(self, data: bytes) -> None:
        if self.wish.stdout:
            await self._send(_STDOUT, data)

    async def write_error(self, data: bytes) -> None:
        # A terminal has one output only.
        if self.wish.tty:
            await self.write(data)
        elif self.wish.stderr:
            await self._send(_STDERR, data)

    async def listen(self) -> None:
        """Take in what the client sends until it goes."""
        while (message := await self.messages.receive()) is not None:
            self._take(message)
        self._typed.put_nowait(b"")

    async def finish(self, outcome: Obj) -> None:
        """Tell the client how it ended."""
        await self._send(_ENDED, orjson.dumps(outcome))

    def _take(self, message: bytes) -> None:
        channel, data = (message[0], message[1:]) if message else (_ENDED, b"")
        if channel == _STDIN and data:
            self._typed.put_nowait(data)
        elif channel == _CLOSE and data[:1] == bytes([_STDIN]):
            self._typed.put_nowait(b"")
        elif channel == _RESIZE:
            self.terminal_size = _size(data) or self.terminal_size

    async def _send(self, channel: int, data: bytes) -> None:
        await self.messages.send(bytes([channel]) + data)


async def run_session(session: ChannelSession, run: Callable[[ChannelSession], Awaitable[int]]) -> None:
    """Run a command over its channels; it is cancelled when the client goes."""
    # Clients wait for every channel to open before they believe in the connection.
    for channel in (_STDOUT, _STDERR, _ENDED):
        await session.messages.send(bytes([channel]))
    listening = asyncio.create_task(session.listen())
    running = asyncio.ensure_future(run(session))
    try:
        await asyncio.wait({listening, running}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await session.finish(_outcome(running))
    finally:
        for task in (listening, running):
            task.cancel()
        await asyncio.gather(listening, running, return_exceptions=True)


def _outcome(running: asyncio.Future[int]) -> Obj:
    error = running.exception()
    if isinstance(error, ApiError):
        return error.status
    if error is not None:
        told = f"error executing command in container: {error}"
        return {"metadata": {}, "status": "Failure", "message": told, "reason": "InternalError", "code": 500}
    code = running.result()
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _size(data: bytes) -> tuple[int, int] | None:
    try:
        told = orjson.loads(data)
        return int(told["Width"]), int(told["Height"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None
