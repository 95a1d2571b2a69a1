"""What stands on either side of a balancer: clusters that answer on loopback, and clients that never stop asking."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hanse.kube.manifest import Key
from hanse.services.balancing.lines import Line, Target
from hanse.services.balancing.wishes import Mode
from tests.kubernetes.real.ports import free_port

PATIENCE_SECONDS = 60.0
_BREATH_SECONDS = 0.01


class LoopbackClusters:
    """Clusters a, b, c … whose service answers each line with the cluster's name, or each request of HTTP."""

    def __init__(self) -> None:
        self.port = free_port()
        self._servers: dict[str, asyncio.Server] = {}
        self._writers: dict[str, set[asyncio.StreamWriter]] = {}

    def address(self, cluster: str) -> str:
        return f"127.0.71.{ord(cluster) - ord('a') + 1}"

    async def open(self, *clusters: str) -> None:
        for name in clusters:
            answer = self._answering(name)
            self._servers[name] = await asyncio.start_server(answer, self.address(name), self.port, backlog=1000)

    def close(self, *clusters: str) -> None:
        """End clusters as a power failure does: whoever is connected is cut off."""
        for name in clusters or tuple(self._servers):
            if server := self._servers.pop(name, None):
                server.close()
            for writer in self._writers.pop(name, set()):
                writer.transport.abort()

    def line(self, weights: dict[str, int], *, listen: int, mode: Mode = Mode.TCP, name: str = "web") -> Line:
        targets = (Target(each, self.address(each), self.port, weight) for each, weight in weights.items())
        return Line(Key("shop", name), 80, listen, mode, targets=tuple(targets))

    def _answering(self, cluster: str):
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers = self._writers.setdefault(cluster, set())
            writers.add(writer)
            try:
                while line := await reader.readline():
                    if line.startswith((b"GET ", b"POST ")):
                        await reader.readuntil(b"\r\n\r\n")
                        # Long enough for requests to be under way whatever is changed.
                        await asyncio.sleep(0.05 if b"/slow" in line else 0)
                        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{cluster}".encode())
                    else:
                        writer.write(f"{cluster}\n".encode())
                    await writer.drain()
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                writers.discard(writer)
                writer.close()

        return answer


class Clients:
    """Clients of one entrance that ask at a bounded rate: whom they reached, and what went wrong."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.served: Counter[str] = Counter()
        self.errors: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._heard = asyncio.Event()

    def connect_each_time(self, count: int) -> None:
        """Have so many clients connect anew for each question."""
        self._start(count, self._connecting)

    def request_each_time(self, count: int) -> None:
        """Have so many clients send HTTP requests, several over each connection."""
        self._start(count, self._requesting)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def until(self, condition: Callable[[Counter[str]], bool], what: str) -> None:
        """Wait until what was served since now meets a condition."""
        before = Counter(self.served)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not condition(self.served - before):
                    await self._next()
        except TimeoutError:
            raise AssertionError(f"{what}: {dict(self.served - before)}, errors {self.errors[:5]}") from None

    async def settled(self, *clusters: str) -> None:
        """Wait until fifty questions in a row were answered by exactly these clusters."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                served: Counter[str] = Counter()
                while served.keys() != set(clusters):
                    before = Counter(self.served)
                    while (served := self.served - before).total() < 50:
                        await self._next()
        except TimeoutError:
            raise AssertionError(f"not only {clusters} serve: {self.served}, errors {self.errors[:5]}") from None

    async def _next(self) -> None:
        """Wait until a question was answered or went wrong."""
        self._heard.clear()
        await self._heard.wait()

    def _start(self, count: int, ask) -> None:
        self._tasks += (asyncio.create_task(self._ask_on(ask)) for _ in range(count))

    async def _ask_on(self, ask) -> None:
        while True:
            try:
                await ask()
            except (OSError, EOFError, ValueError) as error:
                self.errors.append(repr(error))
            self._heard.set()
            await asyncio.sleep(_BREATH_SECONDS)

    async def _connecting(self) -> None:
        connection = await Conversation.open(self.port)
        try:
            self.served[await connection.ask()] += 1
        finally:
            connection.close()

    async def _requesting(self) -> None:
        connection = await Conversation.open(self.port)
        try:
            for path in ("/", "/slow", "/", "/"):
                cluster, closing = await connection.request(path)
                self.served[cluster] += 1
                if closing:
                    return
        finally:
            connection.close()


class Conversation:
    """One connection through the balancer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Conversation:
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self) -> str:
        """Return who answers; raises EOFError where nobody does."""
        self._writer.write(b"who\n")
        answer = await self._reader.readline()
        if not answer:
            raise EOFError("the connection was closed without an answer")
        return answer.decode().strip()

    async def request(self, path: str) -> tuple[str, bool]:
        """Return who answers a request, and whether the connection ends with it; raises ValueError on a refusal."""
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: shop.example.com\r\n\r\n".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise ValueError(head.splitlines()[0])
        return (await self._reader.readexactly(1)).decode(), b"connection: close" in head.lower()

    def close(self) -> None:
        self._writer.close()


def haproxies(folder: Path) -> list[int]:
    """Return the processes that were started with a configuration of a folder and have not ended."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and f"{folder}/" in (each / "cmdline").read_text():
                found.append(int(each.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def end_haproxies(folder: Path) -> None:
    """Leave no process of a folder behind."""
    for pid in haproxies(folder):
        os.kill(pid, signal.SIGKILL)
