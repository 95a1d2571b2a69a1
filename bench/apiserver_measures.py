"""What the bench asks of a server: writes, a large list, and events for many watchers. The client is bare HTTP."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from statistics import quantiles

import orjson

from bench.apiserver_servers import Running
from bench.kube.raw import RawConnection, send_all

_CONFIGS = "/api/v1/namespaces/default/configmaps"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
_IN_FLIGHT = 16
_STAMP = re.compile(rb'"stamp":"(\d+)"')


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured."""

    writes: int
    listed: int
    watchers: int
    burst: int
    paced: int
    rate: float


@dataclass(frozen=True, slots=True)
class Measured:
    """One server's figures."""

    ready_seconds: float
    idle_megabytes: float
    creates: float
    updates: float
    list_seconds: float
    events: float
    delay_p50_ms: float
    delay_p99_ms: float
    cpu_seconds: float


async def measure(server: Running, extent: Extent, idle_megabytes: float) -> Measured:
    """Measure everything on one server, one after the other."""
    connections = [await RawConnection.open(server.endpoint) for _ in range(_IN_FLIGHT)]
    first = connections[0]
    await send_all(connections, [_create(first, "warm", place) for place in range(200)])
    began = server.cpu_seconds()
    creates = await _rate(connections, [_create(first, "d", place) for place in range(extent.writes)])
    updates = await _rate(connections, [_update(first, "d", place) for place in range(extent.writes)])
    list_seconds = await _listing(connections, extent.listed)
    events, delays = await _fan_out(server, connections, extent)
    cpu = server.cpu_seconds() - began
    for connection in connections:
        connection.close()
    cuts = quantiles(delays, n=100)
    return Measured(
        server.ready_seconds, idle_megabytes, creates, updates, list_seconds, events, cuts[49], cuts[98], cpu
    )


def _create(connection: RawConnection, prefix: str, place: int) -> bytes:
    return connection.prepare("POST", f"{_DEPLOYMENTS}?fieldManager=bench", _deployment(f"{prefix}-{place}", "1"))


def _update(connection: RawConnection, prefix: str, place: int) -> bytes:
    body = _deployment(f"{prefix}-{place}", "2")
    return connection.prepare("PUT", f"{_DEPLOYMENTS}/{prefix}-{place}?fieldManager=bench", body)


def _deployment(name: str, image: str) -> bytes:
    labels = {"app": name}
    container = {"name": "app", "image": f"nginx:{image}", "ports": [{"containerPort": 80}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    return orjson.dumps({"metadata": {"name": name, "labels": labels}, "spec": spec})


async def _rate(connections: list[RawConnection], requests: list[bytes]) -> float:
    started = time.perf_counter()
    await send_all(connections, requests)
    return len(requests) / (time.perf_counter() - started)


async def _listing(connections: list[RawConnection], count: int) -> float:
    first = connections[0]
    path = "/api/v1/namespaces/default/secrets"
    bodies = (
        orjson.dumps({"metadata": {"name": f"s-{place}"}, "stringData": {"a": "x" * 200}}) for place in range(count)
    )
    await send_all(connections, (first.prepare("POST", path, body) for body in bodies))
    times = []
    for _ in range(3):
        started = time.perf_counter()
        await first.exchange(first.prepare("GET", path))
        times.append(time.perf_counter() - started)
    return min(times)


class _Watchers:
    """Many streams of the same kind; counts events, and takes the delays of every tenth stream."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._counts: list[int] = []
        self._left = 0
        self.delays: list[float] = []
        self.done = asyncio.Event()

    def reader(self) -> object:
        place = len(self._counts)
        self._counts.append(0)
        self._left += 1
        tail = b""

        def on_bytes(data: bytes) -> None:
            nonlocal tail
            now = time.perf_counter_ns()
            whole = tail + data
            found = _STAMP.findall(whole)
            # A stamp that came in two pieces is read with the second.
            last = whole.rfind(b'"stamp":"')
            tail = whole[last:] if last >= 0 and not _STAMP.match(whole, last) else whole[-len(b'"stamp":"') :]
            self._counts[place] += len(found)
            if place % 10 == 0:
                self.delays += [(now - int(stamp)) / 1e6 for stamp in found]
            if found and self._counts[place] == self._wanted:
                self._left -= 1
                if not self._left:
                    self.done.set()

        return on_bytes


async def _fan_out(server: Running, connections: list[RawConnection], extent: Extent) -> tuple[float, list[float]]:
    started = 0.0
    streams, burst = await _watch(server, extent.watchers, extent.burst)
    started = time.perf_counter()
    await send_all(connections, (_stamped(connections[0], f"b-{place}") for place in range(extent.burst)))
    await asyncio.wait_for(burst.done.wait(), 60)
    events = extent.burst * extent.watchers / (time.perf_counter() - started)
    for stream in streams:
        stream.close()
    streams, paced = await _watch(server, extent.watchers, extent.paced)
    for place in range(extent.paced):
        begun = time.perf_counter()
        await connections[place % len(connections)].exchange(_stamped(connections[0], f"p-{place}"))
        await asyncio.sleep(max(0.0, 1 / extent.rate - (time.perf_counter() - begun)))
    await asyncio.wait_for(paced.done.wait(), 60)
    for stream in streams:
        stream.close()
    return events, paced.delays


def _stamped(connection: RawConnection, name: str) -> bytes:
    body = orjson.dumps({"metadata": {"name": name}, "data": {"stamp": str(time.perf_counter_ns())}})
    return connection.prepare("POST", f"{_CONFIGS}?fieldManager=bench", body)


async def _watch(server: Running, count: int, wanted: int) -> tuple[list[RawConnection], _Watchers]:
    streams = [await RawConnection.open(server.endpoint) for _ in range(count)]
    asked = await streams[0].exchange(streams[0].prepare("GET", f"{_CONFIGS}?limit=1"))
    found = re.search(rb'"resourceVersion":"(\d+)"', asked)
    assert found is not None
    watchers = _Watchers(wanted)
    for stream in streams:
        path = f"{_CONFIGS}?watch=true&resourceVersion={found[1].decode()}"
        stream.follow(stream.prepare("GET", path), watchers.reader())  # type: ignore[arg-type]
    return streams, watchers
