"""Connections that stop being HTTP: straight, through a proxy, refused, and not to be had."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from hanse.clusters.member_transport import MemberTransport
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.transport import Request, Transport, Unreachable
from hanse.kube.upgrades import HEAD_LIMIT, Head, join, parse_head

WISH = Request("GET", "/exec", (("command", "a b"),), {"connection": "Upgrade", "upgrade": "echo"})


@asynccontextmanager
async def listening(answer: bytes, heads: list[Head]) -> AsyncIterator[str]:
    """Answer every request with these bytes, then send everything back."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(parse_head(await reader.readuntil(b"\r\n\r\n")))
        writer.write(answer)
        while data := await reader.read(HEAD_LIMIT):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@asynccontextmanager
async def proxying(code: int) -> AsyncIterator[str]:
    """Lead where CONNECT says, or refuse."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = parse_head(await reader.readuntil(b"\r\n\r\n"))
        writer.write(f"HTTP/1.1 {code} said\r\n\r\n".encode())
        if code == 200:
            host, _, port = head.line[1].partition(":")
            await join((reader, writer), await asyncio.open_connection(host, int(port)))
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n"


@pytest.mark.parametrize("way", ["straight", "through a proxy"])
async def test_what_is_said_after_the_switch_arrives_as_it_is(way: str) -> None:
    heads: list[Head] = []
    async with listening(SWITCHED, heads) as address, proxying(200) as proxy, asyncio.timeout(60):
        endpoint = Endpoint(f"http://{address}/base", proxy_url=proxy if way != "straight" else "")
        transport = HttpTransport(endpoint)
        opened = await transport.upgrade(WISH, 30)
        opened.writer.write(b"\x00bytes")
        said = await opened.reader.readexactly(6)
        opened.close()
        await transport.close()

    (head,) = heads
    assert (opened.switched, said, opened.raw) == (True, b"\x00bytes", SWITCHED)
    assert head.line[:2] == ("GET", "/base/exec?command=a+b")
    assert (head.headers["upgrade"], head.headers["user-agent"], head.headers["host"]) == ("echo", "hanse", address)


async def test_a_refusal_is_an_ordinary_answer() -> None:
    async with listening(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", []) as address, asyncio.timeout(60):
        transport = HttpTransport(Endpoint(f"http://{address}"))
        answer = await transport.upgrade(WISH, 30)
        told = await answer.body()
        answer.close()
        await transport.close()

    assert (answer.switched, answer.status, told) == (False, 403, b"no")


@pytest.mark.parametrize("answer", [b"nonsense\r\n\r\n", b"HTTP/1.1 2xx\r\n\r\n", b"HTTP/1.1 200 OK\r\nx\r\n\r\n"])
async def test_what_is_not_http_is_unreachable(answer: bytes) -> None:
    async with listening(answer, []) as address:
        transport = HttpTransport(Endpoint(f"http://{address}"))
        with pytest.raises(Unreachable):
            await transport.upgrade(WISH, 30)
        await transport.close()


async def test_a_proxy_that_refuses_and_a_way_that_is_closed_are_unreachable() -> None:
    async with listening(SWITCHED, []) as address, proxying(407) as proxy:
        transport = HttpTransport(Endpoint(f"http://{address}", proxy_url=proxy))
        with pytest.raises(Unreachable):
            await transport.upgrade(WISH, 30)
        await transport.close()
        with pytest.raises(Unreachable, match="closed here"):
            await transport.upgrade(WISH, 30)


async def test_a_member_passes_the_wish_on_where_its_way_can() -> None:
    class Plain:
        """A way that carries requests alone."""

        address = "plain"

    async with listening(SWITCHED, []) as address:
        endpoint = Endpoint(f"http://{address}")
        member = MemberTransport(HttpTransport, [endpoint])
        opened = await member.upgrade(WISH, 30)
        opened.close()
        await member.close()
        with pytest.raises(Unreachable, match="no connection can be opened"):
            await MemberTransport(lambda _endpoint: cast(Transport, Plain()), [endpoint]).upgrade(WISH, 30)

    assert opened.switched
