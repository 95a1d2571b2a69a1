"""As much of HTTP/2 (RFC 9113) and gRPC as asking one small question takes: frames, and headers without compression."""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GO_AWAY = 0x0, 0x1, 0x3, 0x4, 0x6, 0x7
ACK, END_STREAM, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
STREAM = 1
# A server must not send larger frames than this unless it is told that it may (RFC 9113, 4.2).
_LARGEST_FRAME = 16384

# Where names that every HTTP/2 endpoint knows are in the static table (RFC 7541, appendix A).
_AUTHORITY, _PATH, _CONTENT_TYPE = 1, 4, 31
_POST, _PLAIN, _ENCRYPTED = 0x83, 0x86, 0x87


class NotHttp2(Exception):
    """The other side speaks something else."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, without its padding."""

    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def ends_stream(self) -> bool:
        """Whether nothing more comes on its stream."""
        return self.kind == RESET or (self.kind in (DATA, HEADERS) and bool(self.flags & END_STREAM))


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """Write a frame."""
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


async def read_frame(reader: asyncio.StreamReader) -> Frame:
    """Read the next frame; raises NotHttp2, or IncompleteReadError where the other side hangs up."""
    head = await reader.readexactly(9)
    length = int.from_bytes(head[:3], "big")
    if length > _LARGEST_FRAME:
        raise NotHttp2
    kind, flags, stream = struct.unpack(">BBI", head[3:])
    payload = await reader.readexactly(length)
    if kind == DATA and flags & PADDED and payload:
        payload = payload[1 : len(payload) - payload[0]]
    return Frame(kind, flags, stream & 0x7FFFFFFF, payload)


def grpc_headers(path: str, authority: str, *, encrypted: bool) -> bytes:
    """Write the headers of a gRPC call, so that they leave nothing in the other side's table."""
    return b"".join(
        (
            bytes([_POST, _ENCRYPTED if encrypted else _PLAIN]),
            _known(_PATH, path),
            _known(_AUTHORITY, authority),
            _known(_CONTENT_TYPE, "application/grpc"),
            b"\x00" + _text("te") + _text("trailers"),
        )
    )


def grpc_message(payload: bytes) -> bytes:
    """Write a gRPC message, uncompressed."""
    return b"\x00" + len(payload).to_bytes(4, "big") + payload


def text_field(number: int, text: str) -> bytes:
    """Write a protobuf field that holds a text; an empty one is not written."""
    encoded = text.encode()
    return bytes([number << 3 | 2]) + _varint(len(encoded)) + encoded if encoded else b""


def _known(index: int, value: str) -> bytes:
    """Write a header whose name is in the static table, never to be indexed (RFC 7541, 6.2.2)."""
    return _integer(index, 4) + _text(value)


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _integer(len(encoded), 7) + encoded


def _integer(value: int, bits: int) -> bytes:
    """Write a number into the low bits of a byte, and on into further ones (RFC 7541, 5.1)."""
    most = (1 << bits) - 1
    return bytes([value]) if value < most else bytes([most]) + _varint(value - most)


def _varint(value: int) -> bytes:
    written = b""
    while value > 0x7F:
        written += bytes([value & 0x7F | 0x80])
        value >>= 7
    return written + bytes([value])
