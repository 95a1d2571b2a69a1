"""Probes over real sockets on the loopback: what is well, what is not, and in which words."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from hanse.api.federation import HealthSettings
from hanse.apiserver import CertificateAuthority
from hanse.kube.runtime import SystemRuntime
from hanse.services.health.checks import Check
from hanse.services.health.prober import NetworkProber
from hanse.services.health.probing import frames
from hanse.services.health.standing import Finding

HERE = "127.0.0.1"
GOOD = Finding(alive=True)
# Whoever answers has all the time of a slow machine; whoever never does is not waited for.
PATIENT, HURRIED = HealthSettings(timeout_seconds=60), HealthSettings(timeout_seconds=0.05)


async def look(check, address=HERE):
    return await NetworkProber().probe(check, address)


@asynccontextmanager
async def serving(answer, tls=None):
    async def answering(reader, writer):
        try:
            await answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answering, HERE, 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def silent(reader, _writer):
    await reader.read()


def replying(text):
    async def answer(reader, writer):
        answer.asked = await reader.readuntil(b"\r\n\r\n")
        writer.write(text)
        await writer.drain()

    return answer


async def unused_port():
    async with serving(silent) as port:
        return port


# TCP


async def test_a_connection_that_opens_is_enough():
    async with serving(silent) as port:
        assert await look(Check("tcp", port, PATIENT)) == GOOD


async def test_a_refused_connection_says_so():
    found = await look(Check("tcp", await unused_port(), PATIENT))

    assert found == Finding(alive=False, why="the connection was refused")


# UDP


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, answer):
        self.answer = answer

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, address):
        if self.answer is not None:
            self.transport.sendto(self.answer + data, address)


@asynccontextmanager
async def listening(answer):
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: Datagrams(answer), local_addr=(HERE, 0))
    try:
        yield transport.get_extra_info("sockname")[1]
    finally:
        transport.close()


async def test_an_expected_datagram_must_come_back():
    async with listening(b"pong ") as port:
        check = Check("udp", port, PATIENT, send="you", expect="pong you")

        assert await look(check) == GOOD
        assert await look(replace(check, expect="pang")) == Finding(False, "the answer does not contain 'pang'")


async def test_silence_over_udp_is_health_unless_an_answer_is_expected():
    async with listening(None) as port:
        assert await look(Check("udp", port, HURRIED)) == GOOD
        assert await look(Check("udp", port, HURRIED, expect="pong")) == Finding(False, "no answer within 0.05 s")


async def test_a_refused_datagram_is_death():
    async with listening(None) as port:
        pass

    assert await look(Check("udp", port, PATIENT)) == Finding(False, "the connection was refused")


# HTTP

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nall well"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nall \r\n4;x=y\r\nwell\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("asked", "answer", "why"),
    [
        ({}, OK, ""),
        ({"contains": "all well"}, OK, ""),
        ({"contains": "all well"}, CHUNKED, ""),
        ({"contains": "Content-Length"}, OK, "the answer does not contain 'Content-Length'"),
        ({"path": "/healthz"}, b"HTTP/1.1 503 No\r\n\r\n", "it answered GET /healthz with status 503"),
        ({"status": ((503, 503),)}, b"HTTP/1.1 503 No\r\n\r\n", ""),
        ({}, b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\n\r\n", ""),
        ({}, b"SSH-2.0-OpenSSH\r\n", "the answer is not HTTP"),
        ({"contains": "x"}, CHUNKED.replace(b"4;x=y", b"what"), "the answer is not HTTP"),
        ({}, b"", "it hung up without an answer"),
    ],
)
async def test_an_answer_over_http_must_be_as_expected(asked, answer, why):
    async with serving(replying(answer)) as port:
        assert await look(Check("http", port, PATIENT, **asked)) == Finding(not why, why)


async def test_an_http_probe_asks_for_what_the_check_says():
    answer = replying(OK)
    async with serving(answer) as port:
        await look(Check("http", port, PATIENT, method="OPTIONS", path="/live?x=1", host="shop.example"))

    lines = answer.asked.decode().split("\r\n")
    assert lines[0] == "OPTIONS /live?x=1 HTTP/1.1"
    assert {"Host: shop.example", "Connection: close"} <= set(lines)


async def test_a_server_that_does_not_answer_is_not_waited_for():
    async with serving(silent) as port:
        assert await look(Check("http", port, HURRIED)) == Finding(False, "no answer within 0.05 s")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return CertificateAuthority.open(tmp_path_factory.mktemp("pki"), runtime=SystemRuntime(), name="shop")


@pytest.fixture
def tls(authority):
    context = authority.serving(runtime=SystemRuntime()).tls_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


async def test_certificates_are_checked_unless_the_check_says_otherwise(authority, tls):
    async with serving(replying(OK), tls) as port:
        check = Check("https", port, PATIENT)
        ours = replace(check, ca=authority.certificate_pem.decode())
        strange = await look(check)
        misnamed = await look(replace(ours, server_name="other.example"))

        assert (await look(ours), await look(replace(check, verify=False))) == (GOOD, GOOD)
        assert (strange.alive, misnamed.alive) == (False, False)
        assert strange.why.startswith("its certificate is not trusted: ")
        assert "other.example" in misnamed.why


async def test_what_speaks_no_tls_is_not_well_over_https():
    async def plainly(reader, writer):
        await reader.read(65536)
        writer.write(OK)
        # Whoever closes with something unread resets the connection, and what was written may be lost.
        await reader.read()

    async with serving(plainly) as port:
        found = await look(Check("https", port, PATIENT))

    assert not found.alive
    assert found.why.startswith("it does not speak TLS as it should: ")


# gRPC


def health_server(*answers, service=b""):
    """A gRPC server that looks at the question, and answers with these frames."""

    async def answer(reader, writer):
        assert await reader.readexactly(len(frames.PREFACE)) == frames.PREFACE
        writer.write(frames.frame(frames.SETTINGS) + frames.frame(frames.PING, payload=b"12345678"))
        kinds, asked = [], b""
        while frames.DATA not in kinds:
            frame = await frames.read_frame(reader)
            kinds.append(frame.kind)
            asked += frame.payload if frame.kind == frames.DATA else b""
        # The length of the message, then the field that names the service.
        wanted = b"\n" + bytes([len(service)]) + service if service else b""
        assert asked == frames.grpc_message(wanted)
        for each in answers:
            writer.write(each)
        await writer.drain()
        await reader.read()

    return answer


def told(status, padding=b""):
    message = frames.grpc_message(bytes([8, status]))
    if padding:
        message = bytes([len(padding)]) + message + padding
    return frames.frame(frames.DATA, frames.PADDED if padding else 0, frames.STREAM, message)


HEADERS = frames.frame(frames.HEADERS, frames.END_HEADERS, frames.STREAM, b"\x88")
REFUSAL = frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, frames.STREAM, b"\x88")


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ((HEADERS, told(1)), ""),
        ((HEADERS, told(1, padding=b"\0\0\0")), ""),
        ((HEADERS, told(2)), "it says NOT_SERVING"),
        ((HEADERS, told(3)), "it says that it does not know"),
        ((REFUSAL,), "it does not tell its health"),
        ((frames.frame(frames.GO_AWAY, payload=b"\0" * 8),), "it does not tell its health"),
        ((frames.frame(frames.RESET, 0, frames.STREAM, b"\0" * 4),), "it does not tell its health"),
        ((b"HTTP/1.1 400 Bad Request\r\n\r\n",), "it does not speak HTTP/2"),
    ],
)
async def test_a_grpc_server_tells_its_own_health(answers, why):
    async with serving(health_server(*answers, service=b"shop.Cart")) as port:
        found = await look(Check("grpc", port, PATIENT, service="shop.Cart"))

    assert found.alive is not bool(why)
    assert found.why.startswith(why)


async def test_grpc_over_tls_offers_http2(authority, tls):
    async with serving(health_server(HEADERS, told(1)), tls) as port:
        check = Check("grpcs", port, PATIENT, ca=authority.certificate_pem.decode())

        assert await look(check) == GOOD


async def test_who_hangs_up_on_a_grpc_probe_is_not_well():
    async def hang_up(reader, _writer):
        await reader.readexactly(len(frames.PREFACE))

    async with serving(hang_up) as port:
        found = await look(Check("grpc", port, PATIENT))

    assert not found.alive
