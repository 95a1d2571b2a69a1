"""SPDY/3.1 as far as kubectl's port-forward speaks it inside of a WebSocket: frames from bytes, bytes from frames.

Header blocks of each direction are one zlib stream with the protocol's dictionary, so frames must be read and written
in order by one `Framing` for each connection.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_VERSION = 3
_SYN_REPLY, _RST_STREAM, _PING = 2, 3, 6
_FIN = 1
_HEAD = 8
_LARGEST = 4 * 1024 * 1024
_LARGEST_HEADERS = 64 * 1024

# The words of the dictionary, each preceded by its length, then a tail of common values (SPDY/3, section 2.6.10.1).
_WORDS = (
    "options", "head", "post", "put", "delete", "trace", "accept", "accept-charset", "accept-encoding",
    "accept-language", "accept-ranges", "age", "allow", "authorization", "cache-control", "connection", "content-base",
    "content-encoding", "content-language", "content-length", "content-location", "content-md5", "content-range",
    "content-type", "date", "etag", "expect", "expires", "from", "host", "if-match", "if-modified-since",
    "if-none-match", "if-range", "if-unmodified-since", "last-modified", "location", "max-forwards", "pragma",
    "proxy-authenticate", "proxy-authorization", "range", "referer", "retry-after", "server", "te", "trailer",
    "transfer-encoding", "upgrade", "user-agent", "vary", "via", "warning", "www-authenticate", "method", "get",
    "status", "200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin",
)  # fmt: skip
_TAIL = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = b"".join(struct.pack(">I", len(word)) + word.encode() for word in _WORDS) + _TAIL.encode()


class SpdyError(Exception):
    """The other side does not keep to the protocol."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A new stream."""

    stream: int
    headers: Mapping[str, str]
    last: bool = False


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a stream; the last ones close it from their side."""

    stream: int
    data: bytes
    last: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """A stream that was given up."""

    stream: int


@dataclass(frozen=True, slots=True)
class Ping:
    """A question whether the other side lives, to be sent back as it came."""

    number: int


@dataclass(frozen=True, slots=True)
class GoAway:
    """The end of the connection."""


Frame = Opened | Data | Reset | Ping | GoAway


@dataclass(slots=True)
class Framing:
    """Both directions of one connection."""

    _buffer: bytearray = field(default_factory=bytearray)
    _inflate: zlib._Decompress = field(default_factory=lambda: zlib.decompressobj(zdict=DICTIONARY))
    _deflate: zlib._Compress = field(default_factory=lambda: zlib.compressobj(zdict=DICTIONARY))

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Take in bytes and yield the frames that are complete; raises SpdyError."""
        self._buffer += data
        while len(self._buffer) >= _HEAD:
            length = int.from_bytes(self._buffer[5:8], "big")
            if length > _LARGEST:
                raise SpdyError("a frame is too large")
            if len(self._buffer) < _HEAD + length:
                return
            head, body = bytes(self._buffer[:_HEAD]), bytes(self._buffer[_HEAD : _HEAD + length])
            del self._buffer[: _HEAD + length]
            frame = self._read(head, body)
            if frame is not None:
                yield frame

    def reply(self, stream: int) -> bytes:
        """Accept a stream."""
        block = self._deflate.compress(struct.pack(">I", 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return _control(_SYN_REPLY, struct.pack(">I", stream) + block)

    def _read(self, head: bytes, body: bytes) -> Frame | None:
        first, flags = struct.unpack(">IB", head[:5])
        if not first & 0x80000000:
            return Data(first, body, bool(flags & _FIN))
        version, kind = first >> 16 & 0x7FFF, first & 0xFFFF
        if version != _VERSION:
            raise SpdyError(f"SPDY version {version} is not spoken here")
        try:
            return self._read_control(kind, flags, body)
        except (struct.error, zlib.error, UnicodeDecodeError) as error:
            raise SpdyError(f"a frame cannot be read: {error}") from None

    def _read_control(self, kind: int, flags: int, body: bytes) -> Frame | None:
        match kind:
            case 1:
                (stream,) = struct.unpack_from(">I", body)
                return Opened(stream, self._headers(body[10:]), bool(flags & _FIN))
            case 3:
                return Reset(*struct.unpack_from(">I", body))
            case 6:
                return Ping(*struct.unpack_from(">I", body))
            case 7:
                return GoAway()
        # Settings and window updates need no answer: nobody here holds data back.
        return None

    def _headers(self, block: bytes) -> dict[str, str]:
        plain = self._inflate.decompress(block, _LARGEST_HEADERS)
        if self._inflate.unconsumed_tail:
            raise SpdyError("a header block is too large")
        (count,) = struct.unpack_from(">I", plain)
        place, headers = 4, {}
        for _ in range(count):
            name, place = _text(plain, place)
            headers[name.lower()], place = _text(plain, place)
        return headers


def data_frame(stream: int, data: bytes, *, last: bool = False) -> bytes:
    """Return bytes of a stream."""
    return struct.pack(">IB", stream, _FIN if last else 0) + len(data).to_bytes(3, "big") + data


def reset_frame(stream: int) -> bytes:
    """Give a stream up: status 5, cancelled."""
    return _control(_RST_STREAM, struct.pack(">II", stream, 5))


def ping_frame(number: int) -> bytes:
    """Answer a ping."""
    return _control(_PING, struct.pack(">I", number))


def _control(kind: int, body: bytes) -> bytes:
    return struct.pack(">IB", 0x80000000 | _VERSION << 16 | kind, 0) + len(body).to_bytes(3, "big") + body


def _text(plain: bytes, place: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">I", plain, place)
    end = place + 4 + length
    return plain[place + 4 : end].decode(), end
