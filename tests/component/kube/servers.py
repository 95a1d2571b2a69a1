"""TLS servers, proxies and certificates of every kind of fault, on loopback."""

import asyncio
import contextlib
import ipaddress
import socket
import ssl
import tempfile
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import orjson
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hanse.kube.auth.endpoint import Endpoint, Origin
from hanse.kube.runtime import SystemRuntime

ORIGIN = Origin("kubeconfig x: clusters[c]", "kubeconfig x: users[u]")
UNAUTHORIZED = {"kind": "Status", "apiVersion": "v1", "reason": "Unauthorized", "message": "Unauthorized", "code": 401}


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs certificates, good ones and bad ones."""

    def __init__(self, name="authority"):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = _builder(self._name, self._name, self._key, timedelta(days=2))
        made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = _pem(made.sign(self._key, hashes.SHA256()))

    def issue(self, name="someone", *, hosts=(), ends_in=timedelta(days=1)):
        """Sign a certificate for a user or, with hosts, for a server."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = _builder(subject, self._name, key, ends_in)
        if hosts:
            made = made.add_extension(x509.SubjectAlternativeName([_general(host) for host in hosts]), critical=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Pair(_pem(made.sign(self._key, hashes.SHA256())), private)


def _builder(subject, issuer, key, ends_in):
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=10))
        .not_valid_after(now + ends_in)
    )


def _general(host):
    with contextlib.suppress(ValueError):
        return x509.IPAddress(ipaddress.ip_address(host))
    return x509.DNSName(host)


def _pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


@dataclass
class Server:
    """What a running server was asked, and where it is."""

    url: str
    authority: Authority
    context: ssl.SSLContext | None = None
    asked: list[web.BaseRequest] = field(default_factory=list)

    @property
    def shown(self):
        """The Authorization header of every request, in order."""
        return [request.headers.get("Authorization") for request in self.asked]

    def endpoint(self, **changes):
        """Return how to reach it."""
        return Endpoint(**{"server": self.url, "ca": self.authority.certificate, "origin": ORIGIN, **changes})


async def ok(request):
    return web.json_response({"kind": "ok"})


@contextlib.asynccontextmanager
async def serving(handler=ok, *, authority=None, pair=None, demands_certificate=False, tls=True):
    """Run an HTTPS server on loopback for the length of a block."""
    authority = authority or Authority()
    pair = pair or authority.issue("server", hosts=("127.0.0.1", "localhost"))
    server = Server("", authority)

    async def handle(request):
        server.asked.append(request)
        return await handler(request)

    site = web.Server(handle, access_log=None, handler_cancellation=True)
    server.context = server_context(pair, authority, demands_certificate=demands_certificate) if tls else None
    listener = await asyncio.get_running_loop().create_server(site, "127.0.0.1", 0, ssl=server.context)
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()
        await site.shutdown(0.1)


def server_context(pair, authority, *, demands_certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    context.load_verify_locations(cadata=authority.certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED if demands_certificate else ssl.CERT_OPTIONAL
    return context


@contextlib.contextmanager
def shaking_hands(authority):
    """Run a server that demands a client certificate and says in TLS's own words why it refuses one.

    It is a thread of its own, because asyncio hangs up on a bad handshake before the alert is sent.
    """
    pair = authority.issue("server", hosts=("127.0.0.1",))
    context = server_context(pair, authority, demands_certificate=True)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                # Held open until the client has gone: a reset would overtake the alert.
                with connection.dup() as held:
                    with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True):
                        pass
                    held.shutdown(socket.SHUT_WR)
                    with contextlib.suppress(OSError):
                        while held.recv(4096):
                            pass

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def knows(tokens):
    """Answer whoever shows one of the tokens, 401 to everybody else; the list may change while it runs."""

    async def handle(request):
        if request.headers.get("Authorization", "").removeprefix("Bearer ") in tokens:
            return await ok(request)
        return web.Response(status=401, body=orjson.dumps(UNAUTHORIZED), content_type="application/json")

    return handle


@contextlib.asynccontextmanager
async def proxying(refusal=""):
    """Run an HTTP proxy that connects, or refuses to with a status line; yields its URL and what it was asked for."""
    asked, pumps = [], set()

    async def pump(reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head)
        if refusal:
            writer.write(f"HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n".encode())
            writer.close()
            return
        host, _, port = head.split()[1].rpartition(":")
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        pumps.add(asyncio.create_task(pump(reader, far_writer)))
        pumps.add(asyncio.create_task(pump(far_reader, writer)))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
    finally:
        server.close()
        for task in pumps:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)


class MovableRuntime(SystemRuntime):
    """The machine's runtime with a clock that a test moves on."""

    def __init__(self):
        self.moved = 0.0

    def now(self):
        return super().now() + self.moved

    def monotonic(self):
        return super().monotonic() + self.moved
