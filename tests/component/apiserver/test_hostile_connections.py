"""Over HTTPS, to a server in its own process: nothing that is sent makes it fail, hang or grow.

A sample of 300 requests in every run, 2,000 with HYPOTHESIS_PROFILE=explore, other ones with HOSTILE_SEED.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.component.apiserver.hostile_requests import Hostile, hostile_requests
from tests.component.apiserver.real_tools import ROOT

_EXPLORING = os.environ.get("HYPOTHESIS_PROFILE") == "explore"
COUNT = 2000 if _EXPLORING else 300
SEED = int(os.environ.get("HOSTILE_SEED", "1"))
ANSWER_SECONDS = 10.0
GROWTH_LIMIT = 48 * 1024 * 1024
# Refusals in these words have a code of 500 and more upstream too.
_UPSTREAM_FAULTS = (b"failed to create typed patch object", b"Too large resource version")
_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Target:
    """A server in its own process."""

    port: int
    token: str
    process: psutil.Process

    async def send(self, data: bytes, *, finish: bool = False) -> bytes:
        """Send bytes on a connection of their own and return all that comes back."""
        async with asyncio.timeout(ANSWER_SECONDS), self.connected() as (reader, writer):
            try:
                writer.write(data)
                await writer.drain()
                if finish:
                    writer.transport.abort()
                    return b""
                return await reader.read()
            except (ConnectionError, ssl.SSLError):
                return b""

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open a connection for the length of a block; the server's name is not what is tested here."""
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=trusting)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    command = [sys.executable, "-m", "tests.component.apiserver.served", str(tmp_path), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        url, token = process.stdout.readline().split()
        yield Target(int(url.rsplit(":", 1)[1]), token, psutil.Process(process.pid))
        process.kill()


def is_fault(answer: bytes) -> bool:
    return answer[9:10] == b"5" and not any(words in answer for words in _UPSTREAM_FAULTS)


async def send_all(target: Target, requests: list[Hostile]) -> list[tuple[bytes, bytes]]:
    """Send requests, some at a time; return those that made the server fail, with its answers."""
    faults: list[tuple[bytes, bytes]] = []
    waiting = iter(requests)

    async def some() -> None:
        for request in waiting:
            answer = await target.send(request.data, finish=not request.framed)
            if is_fault(answer) or (request.framed and not answer):
                faults.append((request.data[:400], answer[:400]))

    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(some())
    return faults


@pytest.mark.timeout(300)
async def test_hostile_requests_are_refused_without_fault_hang_or_growth(target: Target) -> None:
    requests = list(hostile_requests(SEED, COUNT, target.token))
    # What is loaded on first use is no growth.
    await send_all(target, list(hostile_requests(SEED + 1, 100, target.token)))
    before = target.process.memory_info().rss
    faults = await send_all(target, requests)
    assert faults == []
    assert target.process.memory_info().rss - before < GROWTH_LIMIT
    assert (await target.send(_HEALTH)).startswith(b"HTTP/1.1 200")


async def test_slow_clients_delay_nobody(target: Target) -> None:
    head = f"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {target.token}\r\n"
    unfinished_header = b"GET /version HTTP/1.1\r\nHost: x\r\nX-Slow: "
    unfinished_body = f"{head}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{{".encode()
    async with asyncio.TaskGroup() as group:
        trickling = [
            group.create_task(trickle(target, start))
            for start in (unfinished_header, unfinished_body)
            for _ in range(25)
        ]
        delays = [await timed(target) for _ in range(40)]
        for task in trickling:
            task.cancel()
    assert max(delays) < 2.0


async def trickle(target: Target, start: bytes) -> None:
    """Send the beginning of a request and then a byte now and then, for ever."""
    async with target.connected() as (_, writer):
        writer.write(start)
        while not writer.transport.is_closing():
            await asyncio.sleep(0.02)
            writer.write(b"a")


async def timed(target: Target) -> float:
    started = time.monotonic()
    assert (await target.send(_HEALTH)).startswith(b"HTTP/1.1 200")
    return time.monotonic() - started


async def test_a_header_that_never_ends_is_cut_off(target: Target) -> None:
    answer = await target.send(b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000)
    assert answer.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")) or not answer
