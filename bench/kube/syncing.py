"""How long a cache takes to its first complete copy, beside a raw chunked list of the same objects."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass

from bench.kube.raw import RawConnection, list_in_chunks
from hanse.kube import Cache, Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.resources import DEPLOYMENTS

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Syncing:
    """Medians over the rounds, in seconds of wall time and of the client's CPU."""

    objects: int
    megabytes: float
    raw_seconds: float
    ours_seconds: float
    raw_cpu_seconds: float
    ours_cpu_seconds: float

    @property
    def ratio(self) -> float:
        """The raw list's time as a part of ours."""
        return self.raw_seconds / self.ours_seconds


async def measure_syncing(endpoint: Endpoint, client: Client, namespace: str, *, rounds: int) -> Syncing:
    """List raw and sync a fresh cache, in turn, over connections that are open already."""
    connection = await RawConnection.open(endpoint)
    path = DEPLOYMENTS.path(namespace)
    raw: list[tuple[float, float]] = []
    ours: list[tuple[float, float]] = []
    size = objects = 0
    try:
        await _list_raw(connection, path)
        await _sync(client, namespace)
        for _ in range(rounds):
            size, *times = await _list_raw(connection, path)
            raw.append((times[0], times[1]))
            objects, *times = await _sync(client, namespace)
            ours.append((times[0], times[1]))
    finally:
        connection.close()
    raw_wall, raw_cpu = _medians(raw)
    our_wall, our_cpu = _medians(ours)
    return Syncing(objects, size / 1e6, raw_wall, our_wall, raw_cpu, our_cpu)


async def _list_raw(connection: RawConnection, path: str) -> tuple[int, float, float]:
    wall, cpu = time.monotonic(), time.process_time()
    size = await list_in_chunks(connection, path, _PAGE)
    return size, time.monotonic() - wall, time.process_time() - cpu


async def _sync(client: Client, namespace: str) -> tuple[int, float, float]:
    cache = Cache(client, DEPLOYMENTS, namespace=namespace)
    wall, cpu = time.monotonic(), time.process_time()
    running = asyncio.create_task(cache.run())
    await cache.wait_synced()
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return len(cache), wall, cpu


def _medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(wall for wall, _ in times), statistics.median(cpu for _, cpu in times)
