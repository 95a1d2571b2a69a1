"""SPDY frames: read as they were written, however the bytes are cut."""

from __future__ import annotations

import hashlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hanse.apiserver.streaming import spdy


class Client:
    """The other side of a connection: writes what kubectl writes."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(zdict=spdy.DICTIONARY)
        self._inflate = zlib.decompressobj(zdict=spdy.DICTIONARY)

    def open(self, stream: int, headers: dict[str, str]) -> bytes:
        plain = struct.pack(">I", len(headers))
        for pair in headers.items():
            plain += b"".join(struct.pack(">I", len(text)) + text.encode() for text in pair)
        block = self._deflate.compress(plain) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        body = struct.pack(">IIBB", stream, 0, 0, 0) + block
        return struct.pack(">IB", 0x80030001, 0) + len(body).to_bytes(3, "big") + body

    def headers_of(self, reply: bytes) -> bytes:
        return self._inflate.decompress(reply[12:])


def test_the_dictionary_is_the_protocols() -> None:
    assert len(spdy.DICTIONARY) == 1423
    assert zlib.adler32(spdy.DICTIONARY) == 0xE3C6A7C2
    assert len(hashlib.sha256(spdy.DICTIONARY).digest()) == 32


names = st.sampled_from(["streamtype", "port", "requestid"])
headers = st.dictionaries(names, st.text("abc019", max_size=5), max_size=3)
steps = st.one_of(
    st.tuples(st.just("open"), st.integers(1, 9), headers),
    st.tuples(st.just("data"), st.integers(1, 9), st.binary(max_size=40)),
    st.tuples(st.just("ping"), st.integers(1, 9), st.none()),
)


@given(st.lists(steps, max_size=12), st.integers(1, 17))
def test_frames_are_read_as_they_were_written(script: list[tuple[str, int, object]], cut: int) -> None:
    client, written = Client(), b""
    expected: list[spdy.Frame] = []
    for kind, number, content in script:
        if kind == "open" and isinstance(content, dict):
            written += client.open(number, content)
            expected.append(spdy.Opened(number, content))
        elif kind == "data" and isinstance(content, bytes):
            written += spdy.data_frame(number, content, last=not content)
            expected.append(spdy.Data(number, content, not content))
        else:
            written += spdy.ping_frame(number)
            expected.append(spdy.Ping(number))
    framing, read = spdy.Framing(), []
    for start in range(0, len(written), cut):
        read += list(framing.feed(written[start : start + cut]))
    assert read == expected


def test_a_stream_is_accepted_with_an_empty_header_block() -> None:
    framing, client = spdy.Framing(), Client()
    for stream in (1, 3):
        reply = framing.reply(stream)
        assert struct.unpack(">II", reply[:4] + reply[8:12]) == (0x80030002, stream)
        assert client.headers_of(reply) == b"\0\0\0\0"


BROKEN = [
    ("another version", struct.pack(">IB", 0x80020001, 0) + b"\0\0\0"),
    ("too large", struct.pack(">IB", 1, 0) + b"\xff\xff\xff"),
    ("no header block", struct.pack(">IB", 0x80030001, 0) + b"\0\0\x0a" + bytes(10)),
    ("not compressed", struct.pack(">IB", 0x80030001, 0) + b"\0\0\x0e" + bytes(10) + b"abcd"),
    ("no number", struct.pack(">IB", 0x80030006, 0) + b"\0\0\0"),
]


@pytest.mark.parametrize("data", [case[1] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(spdy.SpdyError):
        list(spdy.Framing().feed(data))
