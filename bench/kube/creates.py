"""How many objects a second `hanse.kube` creates, beside a raw load generator on the same API server."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass

import orjson

from bench.harness.rest import Manifest
from bench.harness.workload import deployment
from bench.kube.raw import RawConnection, send_all
from hanse.kube import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.resources import DEPLOYMENTS

IN_FLIGHT = 16


@dataclass(frozen=True, slots=True)
class Pace:
    """What a round of creates came to: objects a second, and the client's CPU for each."""

    rate: float
    cpu_micros: float


@dataclass(frozen=True, slots=True)
class Creates:
    """Medians over the rounds."""

    raw: Pace
    ours: Pace

    @property
    def ratio(self) -> float:
        """Our pace as a part of the raw one."""
        return self.ours.rate / self.raw.rate


async def measure_creates(
    endpoint: Endpoint, client: Client, namespace: str, *, rounds: int, count: int, warm_up: str
) -> Creates:
    """Create `count` Deployments in each round, raw and through the client in turn."""
    connections = [await RawConnection.open(endpoint) for _ in range(IN_FLIGHT)]
    raw: list[Pace] = []
    ours: list[Pace] = []
    try:
        await _raw_round(connections, _objects(warm_up, "raw", count // 4))
        await _our_round(client, _objects(warm_up, "ours", count // 4))
        for number in range(rounds):
            raw.append(await _raw_round(connections, _objects(namespace, f"raw-{number}", count)))
            ours.append(await _our_round(client, _objects(namespace, f"ours-{number}", count)))
    finally:
        for connection in connections:
            connection.close()
    return Creates(_median(raw), _median(ours))


def _objects(namespace: str, group: str, count: int) -> list[Manifest]:
    return [deployment("machinery", group, namespace, f"{group}-{number:05}") for number in range(count)]


async def _raw_round(connections: list[RawConnection], objects: list[Manifest]) -> Pace:
    path = DEPLOYMENTS.path(objects[0]["metadata"]["namespace"])
    requests = [connections[0].prepare("POST", f"{path}?fieldManager=hanse", orjson.dumps(obj)) for obj in objects]
    wall, cpu = time.monotonic(), time.process_time()
    await send_all(connections, requests)
    return _pace(len(objects), wall, cpu)


async def _our_round(client: Client, objects: list[Manifest]) -> Pace:
    waiting = iter(objects)

    async def work() -> None:
        for obj in waiting:
            await client.create(DEPLOYMENTS, obj)

    wall, cpu = time.monotonic(), time.process_time()
    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    return _pace(len(objects), wall, cpu)


def _pace(count: int, wall: float, cpu: float) -> Pace:
    return Pace(count / (time.monotonic() - wall), (time.process_time() - cpu) / count * 1e6)


def _median(paces: list[Pace]) -> Pace:
    return Pace(statistics.median(pace.rate for pace in paces), statistics.median(pace.cpu_micros for pace in paces))
