"""gRPC: the health service that servers of that kind have (grpc.health.v1), asked whether it is SERVING.

Nothing of the answer is needed but its message, so that its headers are not even decompressed: a server that has no
health service, or does not know the one asked about, sends none.
"""

from __future__ import annotations

import asyncio
import ssl

from hanse.services.health.checks import Check
from hanse.services.health.probing import frames
from hanse.services.health.probing.encryption import context_for, distrust
from hanse.services.health.standing import Finding

_CHECK = "/grpc.health.v1.Health/Check"
_SERVING = b"\x08\x01"
_NOT_SERVING = b"\x08\x02"
_NO_MESSAGE = "it does not tell its health: it has no grpc.health.v1.Health, or does not know the service asked about"
# An answer to this question has seven bytes; whoever sends far more answers something else.
_MOST_FRAMES = 64


async def probe(check: Check, address: str) -> Finding:
    """Ask once over a connection of its own; raises OSError where none can be had."""
    tls = context_for(check, "h2") if check.encrypted else None
    name = check.server_name or check.host or address
    try:
        reader, writer = await asyncio.open_connection(
            address, check.port, ssl=tls, server_hostname=name if tls else None
        )
    except ssl.SSLError as error:
        return distrust(error)
    try:
        writer.write(_question(check, check.host or name))
        return _judged(await _message(reader, writer))
    except asyncio.IncompleteReadError:
        return Finding(alive=False, why="it hung up before it answered over HTTP/2")
    except frames.NotHttp2:
        return Finding(alive=False, why="it does not speak HTTP/2")
    finally:
        writer.transport.abort()


def _question(check: Check, authority: str) -> bytes:
    headers = frames.grpc_headers(_CHECK, authority, encrypted=check.encrypted)
    message = frames.grpc_message(frames.text_field(1, check.service))
    return b"".join(
        (
            frames.PREFACE,
            frames.frame(frames.SETTINGS),
            frames.frame(frames.HEADERS, frames.END_HEADERS, frames.STREAM, headers),
            frames.frame(frames.DATA, frames.END_STREAM, frames.STREAM, message),
        )
    )


async def _message(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Return what the server sends as its message, empty where it ends the call without one."""
    read = b""
    for _ in range(_MOST_FRAMES):
        frame = await frames.read_frame(reader)
        if frame.kind in (frames.SETTINGS, frames.PING) and not frame.flags & frames.ACK:
            payload = frame.payload if frame.kind == frames.PING else b""
            writer.write(frames.frame(frame.kind, frames.ACK, payload=payload))
        elif frame.kind == frames.DATA and frame.stream == frames.STREAM:
            read += frame.payload
        if frame.kind == frames.GO_AWAY or (frame.stream == frames.STREAM and frame.ends_stream):
            return read
        if len(read) >= 5 and len(read) >= 5 + int.from_bytes(read[1:5], "big"):
            return read
    raise frames.NotHttp2


def _judged(message: bytes) -> Finding:
    if len(message) < 5:
        return Finding(alive=False, why=_NO_MESSAGE)
    told = message[5:]
    if told == _SERVING:
        return Finding(alive=True)
    return Finding(alive=False, why="it says NOT_SERVING" if told == _NOT_SERVING else "it says that it does not know")
