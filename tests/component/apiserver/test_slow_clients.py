"""Clients that send or read too slowly are given up, with the connections and the memory that they hold."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hanse.apiserver import ApiServer, CertificateAuthority, MemoryStorage
from hanse.apiserver.patience import Patience, Unread, look_at
from hanse.kube.runtime import SystemRuntime
from tests.component.apiserver.conftest import ADMIN, Api, config

HASTY = Patience(header_seconds=0.3, body_seconds=0.3, unread_seconds=0.6)
WITHOUT_TIME_TO_READ = Patience(unread_seconds=0.6)
CONFIGS = "/api/v1/namespaces/default/configmaps"
# More than the kernel holds of an unread connection, and less than a watch may leave unread at all.
_LARGE_BYTES = 350_000
_LARGE_OBJECTS = 20


class Served:
    """A server on a socket that soon loses patience."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api
        self.authorization = f"Host: x\r\nAuthorization: Bearer {api.token_for(ADMIN)}\r\n".encode()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        plug = socket.socket()
        # Little is taken off the server's hands before it is read.
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plug.setblocking(False)
        await asyncio.get_running_loop().sock_connect(plug, ("127.0.0.1", int(self.api.url.rsplit(":", 1)[1])))
        return await asyncio.open_connection(sock=plug, ssl=trusting, server_hostname="x")


@pytest.fixture
def patience() -> Patience:
    return HASTY


@pytest.fixture
async def served(tmp_path: Path, patience: Patience) -> AsyncIterator[Served]:
    runtime = SystemRuntime()
    server = await ApiServer.open(name="hasty", storage=MemoryStorage(), runtime=runtime)
    authority = CertificateAuthority.open(tmp_path / "pki", runtime=runtime)
    await server.serve(credentials=authority.serving(runtime=runtime), patience=patience)
    yield Served(server)
    await server.close()


async def send_for_ever(writer: asyncio.StreamWriter, data: bytes) -> None:
    while not writer.transport.is_closing():
        writer.write(data)
        await asyncio.sleep(0.05)


async def ended(reader: asyncio.StreamReader) -> bytes:
    """Return all that comes until the server hangs up."""
    async with asyncio.timeout(60):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - a server tells nobody that it gave a connection up
            await asyncio.sleep(0.02)


async def test_a_header_that_trickles_is_given_up(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    trickling = asyncio.create_task(send_for_ever(writer, b"a"))
    assert await ended(reader) == b""
    trickling.cancel()


async def test_a_body_that_trickles_is_refused_in_words(served: Served) -> None:
    reader, writer = await served.connect()
    writer.write(b"POST %b HTTP/1.1\r\n%bContent-Length: 90000\r\n\r\n" % (CONFIGS.encode(), served.authorization))
    trickling = asyncio.create_task(send_for_ever(writer, b"{"))
    async with asyncio.timeout(60):
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readuntil(b"408}")
    trickling.cancel()
    writer.transport.abort()
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"the body did not arrive within 0.3 seconds" in body


@pytest.mark.parametrize("patience", [WITHOUT_TIME_TO_READ], ids=["hasty"])
@pytest.mark.parametrize("query", [b"", b"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"])
async def test_an_answer_that_nobody_reads_is_given_up(served: Served, query: bytes) -> None:
    api = Api(served.api.connect(ADMIN))
    for number in range(_LARGE_OBJECTS):
        assert (await api.create(CONFIGS, config(f"c{number}", data={"x": "y" * _LARGE_BYTES}))).code == 201
    reader, writer = await served.connect()
    transport = writer.transport
    transport.pause_reading()  # type: ignore[attr-defined]
    await until(lambda: served.api.connections == 1)
    writer.write(b"GET %b%b HTTP/1.1\r\n%b\r\n" % (CONFIGS.encode(), query, served.authorization))

    await until(lambda: served.api.connections == 0)

    transport.abort()
    assert served.api.streams == 0
    assert reader.exception() is None


@pytest.mark.parametrize(
    ("before", "size", "since"),
    [
        (None, 10, 100.0),
        (Unread(10, 40.0), 10, 40.0),
        (Unread(10, 40.0), 900, 40.0),
        (Unread(10, 40.0), 9, 100.0),
        (Unread(10, 40.0), 0, None),
    ],
    ids=["first seen", "nothing read", "more came", "some read", "all read"],
)
def test_a_client_reads_when_less_waits_for_it_than_before(
    before: Unread | None, size: int, since: float | None
) -> None:
    seen = look_at({} if before is None else {"it": before}, {"it": size}, 100.0)
    assert seen == ({} if since is None else {"it": Unread(size, since)})
