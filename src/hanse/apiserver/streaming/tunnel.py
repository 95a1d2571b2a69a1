"""Port-forward as kubectl does it: SPDY inside of a WebSocket (SPDY/3.1+portforward.k8s.io).

For each connection that the client accepts it opens two streams with one request id: `error`, on which it only reads,
and `data`, which is tied to a connection into the pod.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.apiserver.streaming import spdy
from hanse.apiserver.streaming.forwarding import CHUNK, Dial, refusal
from hanse.apiserver.streaming.messages import Messages

TUNNEL = "SPDY/3.1+portforward.k8s.io"


async def forward_tunnel(messages: Messages, dial: Dial) -> None:
    """Forward connections until the client goes."""
    tunnel = _Tunnel(messages, dial)
    try:
        while (message := await messages.receive()) is not None:
            for frame in tunnel.framing.feed(message):
                if isinstance(frame, spdy.GoAway):
                    return
                await tunnel.take(frame)
    except spdy.SpdyError:
        return
    finally:
        await tunnel.close()


@dataclass(slots=True)
class _Tunnel:
    messages: Messages
    dial: Dial
    framing: spdy.Framing = field(default_factory=spdy.Framing)
    # Error streams by request id, until the data stream of the same id comes.
    errors: dict[str, int] = field(default_factory=dict)
    inputs: dict[int, asyncio.Queue[bytes]] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def take(self, frame: spdy.Frame) -> None:
        match frame:
            case spdy.Opened(stream, headers):
                await self.messages.send(self.framing.reply(stream))
                self._open(stream, headers.get("streamtype", ""), headers)
            case spdy.Data(stream, data, last) if stream in self.inputs:
                queue = self.inputs[stream]
                if data:
                    queue.put_nowait(data)
                if last:
                    queue.put_nowait(b"")
            case spdy.Reset(stream) if stream in self.inputs:
                self.inputs[stream].put_nowait(b"")
            case spdy.Ping(number):
                await self.messages.send(spdy.ping_frame(number))

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def _open(self, stream: int, kind: str, headers: Mapping[str, str]) -> None:
        request = headers.get("requestid", "")
        if kind == "error":
            self.errors[request] = stream
            return
        self.inputs[stream] = asyncio.Queue()
        port = headers.get("port", "")
        task = asyncio.create_task(
            self._connect(stream, self.errors.pop(request, 0), int(port) if port.isdigit() else 0)
        )
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _connect(self, stream: int, errors: int, port: int) -> None:
        try:
            reader, writer = await self.dial(port)
        except OSError as error:
            await self._end(stream, errors, refusal(port, error))
            return
        typing = asyncio.create_task(self._pass_on(stream, writer))
        try:
            while data := await reader.read(CHUNK):
                await self.messages.send(spdy.data_frame(stream, data))
            await self._end(stream, errors, "")
        except ConnectionError as error:
            await self._end(stream, errors, refusal(port, error))
        finally:
            typing.cancel()
            await asyncio.gather(typing, return_exceptions=True)
            writer.close()

    async def _pass_on(self, stream: int, writer: asyncio.StreamWriter) -> None:
        while data := await self.inputs[stream].get():
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    async def _end(self, stream: int, errors: int, told: str) -> None:
        self.inputs.pop(stream, None)
        await self.messages.send(spdy.data_frame(stream, b"", last=True))
        if errors:
            await self.messages.send(spdy.data_frame(errors, told.encode(), last=True))
