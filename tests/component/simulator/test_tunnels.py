"""The way from a real API server to simulated pods: tunnels end at a pod's page, or at what is really there."""

import asyncio

import pytest

from hanse.kube.manifest import Key
from hanse.kube.transport import Response
from hanse.simulator.networking.tunnels import Tunnels

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


async def page(namespace, name, port, request):
    if port == "1":
        raise ConnectionRefusedError("nothing listens")
    return Response(200, {"content-type": "text/plain"}, f"{namespace}/{name}:{port}{request.path}".encode())


@pytest.fixture
async def socket(tmp_path):
    pods = {"10.1.0.7": Key("default", "web-0")}
    tunnels = await Tunnels.open(tmp_path / "socket", pods.get, page)
    yield tmp_path / "socket"
    await tunnels.close()


async def through(socket, target, sent):
    """Dial through a tunnel, send something and return all that comes back."""
    reader, writer = await asyncio.open_unix_connection(socket)
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode() + sent)
    told = await reader.read()
    writer.close()
    return told


@pytest.mark.parametrize(
    ("port", "method", "status", "told"),
    [
        ("15000", "GET", b"HTTP/1.1 200 OK", b"default/web-0:15000/app/"),
        ("15000", "HEAD", b"HTTP/1.1 200 OK", b""),
        ("1", "GET", b"HTTP/1.1 502 Bad Gateway", b"nothing listens\n"),
    ],
)
async def test_an_address_of_a_pod_is_answered_with_its_page(socket, port, method, status, told):
    answer = await through(socket, f"10.1.0.7:{port}", f"{method} /app/?a=b HTTP/1.1\r\nHost: pod\r\n\r\n".encode())

    head, _, body = answer.removeprefix(ESTABLISHED).partition(b"\r\n\r\n")
    assert answer.startswith(ESTABLISHED)
    assert head.splitlines()[0] == status
    assert body == told


async def test_any_other_address_is_dialled(socket):
    async def echo(reader, writer):
        writer.write(b"heard " + await reader.readexactly(5))
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    answer = await through(socket, f"127.0.0.1:{port}", b"hello")
    server.close()
    refused = await through(socket, f"127.0.0.1:{port}", b"hello")

    assert answer == ESTABLISHED + b"heard hello"
    assert refused.startswith(b"HTTP/1.1 502 Bad Gateway")


@pytest.mark.parametrize("head", ["GET / HTTP/1.1", "CONNECT nowhere HTTP/1.1", "CONNECT a:b HTTP/1.1"])
async def test_who_asks_for_no_tunnel_is_hung_up_on(socket, head):
    reader, writer = await asyncio.open_unix_connection(socket)
    writer.write(f"{head}\r\n\r\n".encode())

    assert await reader.read() == b""
    writer.close()
