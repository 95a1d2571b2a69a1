"""Small HTTP servers behind load-balancer addresses: they tell who answers, or 503 while no pod is ready.

An address and port that the machine does not let us have is let go: the Service keeps its address all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count

from hanse.kube.log import Log
from hanse.kube.manifest import Key

_LONGEST_REQUEST_BYTES = 16 * 1024
_PATIENCE_SECONDS = 10.0
log = Log("hanse")


@dataclass(frozen=True, slots=True)
class Front:
    """Where a Service listens."""

    address: str
    ports: frozenset[int]


class Listeners:
    """The open listeners of one cluster."""

    def __init__(self, cluster: str, backends: Callable[[Key], list[str]]) -> None:
        self._cluster = cluster
        self._backends = backends
        self._fronts: dict[Key, Front] = {}
        self._servers: dict[Key, list[asyncio.Server]] = {}
        self._connections: set[asyncio.StreamWriter] = set()
        self._turns = count()

    async def open(self, key: Key, front: Front) -> None:
        """Listen for a Service exactly where it says; anything else that was open for it is closed."""
        if self._fronts.get(key) == front:
            return
        self.close(key)
        self._fronts[key] = front
        for port in sorted(front.ports):
            try:
                answer = partial(self._answer, key)
                server = await asyncio.start_server(answer, front.address, port, limit=_LONGEST_REQUEST_BYTES)
            except OSError as error:
                log.debug("No listener", service=str(key), address=front.address, port=port, error=str(error))
            else:
                self._servers.setdefault(key, []).append(server)

    def close(self, key: Key) -> None:
        """Stop listening for a Service."""
        self._fronts.pop(key, None)
        for server in self._servers.pop(key, []):
            server.close()

    def close_all(self) -> None:
        """Stop listening and hang up on everybody, as a machine that lost power does."""
        for key in list(self._servers):
            self.close(key)
        self._fronts.clear()
        for writer in list(self._connections):
            writer.transport.abort()

    async def _answer(self, key: Key, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._page(key, head_only=request.startswith(b"HEAD ")))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            # A probe that only connects, or a client that is not speaking HTTP: nothing to answer.
            pass
        finally:
            self._connections.discard(writer)
            writer.close()

    def _page(self, key: Key, *, head_only: bool) -> bytes:
        pods = self._backends(key)
        lines = [f"cluster: {self._cluster}", f"service: {key.name}", f"namespace: {key.namespace}"]
        lines.append(f"pod: {pods[next(self._turns) % len(pods)]}" if pods else "no pod is ready")
        body = ("\n".join(lines) + "\n").encode()
        status = "200 OK" if pods else "503 Service Unavailable"
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + (b"" if head_only else body)
