"""HTTP and HTTPS: one request, whose status, and where asked its body, must be as expected; redirects are not followed.

Written out by hand as gRPC is: a probe opens one connection, asks once and hangs up, which a client with pools, cookies
and redirects does at many times the cost.
"""

from __future__ import annotations

import asyncio
import ssl
from ipaddress import IPv6Address, ip_address

from hanse.services.health.checks import Check
from hanse.services.health.probing.encryption import context_for, distrust
from hanse.services.health.standing import Finding

# What is looked at of an answer; the rest is not read.
_MOST_BYTES = 64 * 1024


async def probe(check: Check, address: str) -> Finding:
    """Ask once over a connection of its own; raises OSError where none can be had."""
    tls = context_for(check, "http/1.1") if check.encrypted else None
    name = (check.server_name or check.host or address) if tls else None
    try:
        reader, writer = await asyncio.open_connection(address, check.port, ssl=tls, server_hostname=name)
    except ssl.SSLError as error:
        return distrust(error)
    try:
        writer.write(_request(check, address))
        return await _judged(check, reader)
    finally:
        writer.transport.abort()


async def _judged(check: Check, reader: asyncio.StreamReader) -> Finding:
    try:
        line = await reader.readline()
    except ValueError:
        # A line without an end.
        line = b"?"
    parts = line.split(None, 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
        return Finding(alive=False, why="the answer is not HTTP" if line else "it hung up without an answer")
    status = int(parts[1])
    if not any(low <= status <= high for low, high in check.status):
        return Finding(alive=False, why=f"it answered {check.method} {check.path} with status {status}")
    try:
        missing = check.contains and check.contains.encode() not in await _rest(reader)
    except ValueError:
        return Finding(alive=False, why="the answer is not HTTP")
    if missing:
        return Finding(alive=False, why=f"the answer does not contain {check.contains!r}")
    return Finding(alive=True)


async def _rest(reader: asyncio.StreamReader) -> bytes:
    """Read on to the end: the request asked for the connection to be closed there."""
    read = b""
    while len(read) < _MOST_BYTES and (chunk := await reader.read(_MOST_BYTES - len(read))):
        read += chunk
    # What is searched is the body; a header that says the same is none.
    head, _, body = read.partition(b"\r\n\r\n")
    return _joined(body) if b"transfer-encoding: chunked" in head.lower() else body


def _joined(chunks: bytes) -> bytes:
    """Take the sizes out from between the chunks of a body: they may cut a text in two."""
    body = b""
    while chunks:
        size, _, chunks = chunks.partition(b"\r\n")
        length = int(size.partition(b";")[0].strip() or b"0", 16)
        if not length:
            break
        body, chunks = body + chunks[:length], chunks[length + 2 :]
    return body


def _request(check: Check, address: str) -> bytes:
    lines = [
        f"{check.method} {check.path} HTTP/1.1",
        f"Host: {check.host or _authority(address, check)}",
        "User-Agent: hanse-checker",
        "Accept: */*",
        "Connection: close",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _authority(address: str, check: Check) -> str:
    bracketed = f"[{address}]" if isinstance(ip_address(address), IPv6Address) else address
    return f"{bracketed}:{check.port}"
