"""Connections on which no good client ever speaks: broken framing, halves of requests, bytes that are no TLS."""

from __future__ import annotations

import random

from tests.fuzz.requests.case import Ending, Sent, head

_CONFIGS = "/api/v1/namespaces/fuzz/configmaps"
_HOST = ("Host", "x")
_CHUNKED = ("Transfer-Encoding", "chunked")
_WHOLE = head("GET", "/version", [_HOST])
_POST = head("POST", _CONFIGS, [_HOST, ("Content-Type", "application/json"), ("Content-Length", "1000")])
_STREAM = head("POST", _CONFIGS, [_HOST, ("Content-Type", "application/json"), _CHUNKED])
_FRAMES: tuple[bytes, ...] = (
    b"\r\n" * 100 + _WHOLE,
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET  / HTTP/1.1\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://x:99999/version HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /?a=%ff&b=%zz&%00=1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    b"GET / HTTP/1.1\r\n: x\r\n\r\n",
    b"GET / HTTP/1.1\nHost: x\n\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"a" * 70_000 + b"\r\n\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"h%d: v\r\n" % n for n in range(5000)) + b"\r\n",
    head("POST", _CONFIGS, [_HOST, ("Content-Length", "-1")]),
    head("POST", _CONFIGS, [_HOST, ("Content-Length", "9" * 30)]),
    head("POST", _CONFIGS, [_HOST, ("Content-Length", "1"), ("Content-Length", "2")]) + b"{}",
    head("POST", _CONFIGS, [_HOST, ("Content-Length", "1"), _CHUNKED]) + b"0\r\n\r\n",
    head("POST", _CONFIGS, [_HOST, ("Transfer-Encoding", "gzip, chunked")]) + b"0\r\n\r\n",
    _STREAM + b"zz\r\nx\r\n",
    _STREAM + b"-1\r\nx\r\n",
    _STREAM + b"fffffffffffffffff\r\nx\r\n",
    _STREAM + b"2;" + b"x" * 20_000 + b"\r\n{}\r\n0\r\n\r\n",
    _STREAM + b"2\r\n{}XX0\r\n\r\n",
    _STREAM + b"2\r\n{}\r\n0\r\nTrailer: " + b"x" * 20_000 + b"\r\n\r\n",
    _STREAM + b"1\r\n{\r\n" * 1 + b"1\r\n}\r\n0\r\n\r\n",
    _WHOLE * 50,
    _WHOLE * 3 + b"garbage\r\n\r\n",
    head(
        "GET",
        "/api/v1/namespaces/fuzz/pods/a/exec?command=x",
        [_HOST, ("Upgrade", "SPDY/3.1"), ("Connection", "Upgrade")],
    )
    + b"\x80\x03\x00\x01" * 50,
    head(
        "GET",
        "/api/v1/namespaces/fuzz/pods/a/portforward",
        [_HOST, ("Upgrade", "websocket"), ("Connection", "Upgrade")],
    )
    + b"\x81\xff" * 50,
)
_NO_TLS: tuple[bytes, ...] = (
    _WHOLE,
    b"\x16\x03\x01\x00\xff" * 20,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\x15\x03\x03\x00\x02\x02\x28",
    b"\x80\x2e\x01\x00\x02",
    b"\x00" * 500,
    b"SSH-2.0-x\r\n",
)


def broken_connection(chance: random.Random) -> Sent:
    """Return what is sent on a connection that goes wrong."""
    kind = chance.random()
    if kind < 0.15:
        data = chance.choice((*_NO_TLS, chance.randbytes(chance.randrange(1, 600))))
        return Sent(data, ending=chance.choice((Ending.HALF_CLOSED, Ending.ABORTED)), tls=False)
    if kind < 0.2:
        return Sent(chance.choice((_WHOLE[:-2], _POST + b"{", _STREAM + b"5\r\n{")), ending=Ending.LEFT_OPEN)
    data = chance.choice((*_FRAMES, chance.randbytes(chance.randrange(1, 2000)), _POST + b"{", _STREAM + b"ffff\r\n{"))
    if chance.random() < 0.3:
        data = data[: chance.randrange(len(data)) + 1]
    return Sent(data, ending=chance.choice((Ending.HALF_CLOSED, Ending.HALF_CLOSED, Ending.ABORTED)))
