"""The server on the network: UDP, and TCP for what is longer, for transfers, and for who prefers it."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from contextlib import suppress
from typing import Any, cast

from hanse.kube.log import Log
from hanse.kube.runtime import Runtime
from hanse.services.dns.authority import Authority
from hanse.services.dns.limits import AnswerLimiter, Limits, Network, Ruling
from hanse.services.dns.statistics import Statistics
from hanse.services.dns.zones import Zones

log = Log("hanse")

_LENGTH_BYTES = 2
# A port that is free for TCP and taken for UDP is no use; the next one is tried.
_PORT_ATTEMPTS = 20
# Room for the questions of a moment in which the process does something else.
_RECEIVE_BYTES = 1 << 20


class DnsServer:
    """Answers for zones on one or more addresses, UDP and TCP."""

    def __init__(
        self, zones: Zones, runtime: Runtime, limits: Limits | None = None, *, transfers: tuple[Network, ...] = ()
    ) -> None:
        self.zones = zones
        self._runtime = runtime
        self._limits = limits or Limits()
        self._authority = Authority(zones, runtime, self._limits, transfers=transfers)
        self._limiter = AnswerLimiter(self._limits)
        self._clients: Counter[str] = Counter()
        self._connections: set[asyncio.Task[Any]] = set()
        self._endpoints: list[asyncio.DatagramTransport | asyncio.Server] = []
        # Of several addresses the first.
        self.host, self.port = "", 0

    @property
    def address(self) -> str:
        """Where it listens first: HOST:PORT, an IPv6 host in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def statistics(self) -> Statistics:
        """What it has done so far."""
        return self._authority.statistics

    async def start(self, host: str, port: int, *, reuse_port: bool = False) -> None:
        """Listen on an address, one more where it does so already; port 0 is any that is free. Raises OSError.

        With `reuse_port` several processes share one.
        """
        for attempt in range(_PORT_ATTEMPTS):
            tcp = await asyncio.start_server(self._serve_connection, host, port, reuse_port=reuse_port)
            found = tcp.sockets[0].getsockname()[:2]
            try:
                sock = _udp_socket(*found, reuse_port=reuse_port)
                udp, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: _Datagrams(self), sock=sock)
            except OSError:
                tcp.close()
                if port or attempt == _PORT_ATTEMPTS - 1:
                    raise
            else:
                self._endpoints += [tcp, udp]
                if not self.host:
                    self.host, self.port = found
                return

    async def close(self) -> None:
        """Answer no more, and end all connections."""
        for endpoint in self._endpoints:
            endpoint.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def answer_datagram(self, packet: bytes, source: str) -> bytes | None:
        """Answer one datagram, unless its network has had too many answers."""
        match self._limiter.rule(source, self._runtime.monotonic()):
            case Ruling.SEND:
                return self._authority.answer(packet, source)
            case Ruling.TRUNCATE:
                self.statistics.limited += 1
                return self._authority.answer_emptily(packet)
            case Ruling.DROP:
                self.statistics.limited += 1
                return None

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        peer = writer.get_extra_info("peername")
        if task is None or peer is None or not self._admits(peer[0]):
            writer.close()
            return
        self._connections.add(task)
        self._clients[peer[0]] += 1
        self.statistics.connections += 1
        try:
            with suppress(OSError, EOFError, TimeoutError):
                await self._converse(reader, writer, peer[0])
        finally:
            self._connections.discard(task)
            self._clients[peer[0]] -= 1
            if not self._clients[peer[0]]:
                del self._clients[peer[0]]
            writer.close()

    def _admits(self, client: str) -> bool:
        limits = self._limits
        admitted = (
            len(self._connections) < limits.tcp_connections
            and self._clients[client] < limits.tcp_connections_per_client
        )
        self.statistics.turned_away += not admitted
        return admitted

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: str) -> None:
        """Answer questions in their order until the client goes, or is silent for too long."""
        while True:
            async with asyncio.timeout(self._limits.tcp_idle_seconds):
                length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES))
                packet = await reader.readexactly(length)
            for message in self._authority.answers(packet, client):
                writer.write(len(message).to_bytes(_LENGTH_BYTES) + message)
                # One that does not read what it asked for is silent, too.
                async with asyncio.timeout(self._limits.tcp_idle_seconds):
                    await writer.drain()


def _udp_socket(host: str, port: int, *, reuse_port: bool) -> socket.socket:
    """Open a socket that does what the one for TCP does: an IPv6 address is for IPv6 alone."""
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        if opened.family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if reuse_port:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        opened.setblocking(False)
        opened.bind((host, port))
    except OSError:
        opened.close()
        raise
    return opened


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, server: DnsServer) -> None:
        self._server = server
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        try:
            answer = self._server.answer_datagram(data, addr[0])
        except Exception:
            # Whatever was sent, the next one asks something else.
            log.exception("Failed on a bug", controller="dns", packet=data[:64].hex())
            return
        if answer is not None and self._transport is not None:
            self._transport.sendto(answer, addr)

    def error_received(self, exc: Exception) -> None:
        """Take no notice of a client that is gone before its answer."""
