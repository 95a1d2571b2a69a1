"""Port-forward over numbered channels (v4.channel.k8s.io): two for each port, data and errors.

The first message of every channel names its port, as two bytes with the lower one first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from hanse.apiserver.streaming.messages import Messages

CHANNELS = "v4.channel.k8s.io"
CHUNK = 32 * 1024
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
# Opens a connection to a port of the pod that is forwarded to; raises OSError.
Dial = Callable[[int], Awaitable[Connection]]


def refusal(port: int, error: OSError) -> str:
    """Say why a port cannot be forwarded, as a container runtime does."""
    return f"failed to connect to localhost:{port} inside namespace: {error.strerror or error}"


async def forward_channels(messages: Messages, ports: Sequence[int], dial: Dial) -> None:
    """Forward the ports until the client goes."""
    writers: dict[int, asyncio.StreamWriter] = {}
    tasks = []
    for place, port in enumerate(ports):
        for channel in (2 * place, 2 * place + 1):
            await messages.send(bytes([channel]) + port.to_bytes(2, "little"))
        try:
            reader, writers[2 * place] = await dial(port)
        except OSError as error:
            await messages.send(bytes([2 * place + 1]) + refusal(port, error).encode())
            continue
        tasks.append(asyncio.create_task(_pass_back(messages, 2 * place, reader)))
    try:
        while (message := await messages.receive()) is not None:
            writer = writers.get(message[0]) if message else None
            if writer is not None:
                writer.write(message[1:])
                await writer.drain()
    except ConnectionError:
        return
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers.values():
            writer.close()


async def _pass_back(messages: Messages, channel: int, reader: asyncio.StreamReader) -> None:
    while data := await reader.read(CHUNK):
        await messages.send(bytes([channel]) + data)
