"""Measures how fast services of many clusters get and change their names, and adds the ratios to RESULTS.md.

    python -m bench.services [--services 1000] [--clusters 50] [--dry-run]

The host is an embedded API server in memory; clusters and what they hold are made up, so that what is measured is the
decision and the writing of it. Raw is a client that writes the very same objects, as many at a time. Then a zone of
the built-in DNS server takes the services in, and takes in every one of them again with a cluster less.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

import psutil
import structlog

from bench.results import append_results, line
from hanse.api.clusters import Cluster
from hanse.api.federation import FEDERATIONS, federation_manifest
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.control_plane import prepare_host
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.manifest import Key, Obj, uid_of
from hanse.kube.resources import SERVICES
from hanse.kube.runtime import SystemRuntime
from hanse.propagation.farewells import Farewells
from hanse.propagation.intent import Ref
from hanse.propagation.planning import Observation
from hanse.propagation.viewing import Speaker, View
from hanse.services.addresses import parse_addresses
from hanse.services.controller import ServiceController
from hanse.services.dns.book import Book
from hanse.services.dns.zones import Zones

_USER = Identity("user", ("system:masters",))
_NAMESPACE = "default"
# As many workers as the controller has.
_WIDTH = 8
_LOOK_SECONDS = 0.01
_QUIET_SECONDS = 1.0
_COLUMNS = (
    "date",
    "commit",
    "command",
    "raw creates s",
    "all named (times raw)",
    "raw updates s",
    "a cluster lost (times raw)",
    "changes/s",
    "MB",
    "zone: services/s, first / changed",
)
_HEADING = f"""# Services: how fast names follow clusters

The host is an embedded API server in memory, in the same process; clusters are made up, each with an address for every
service. all named: from the start of the controller until each service's decision is stored and told in the Service;
a cluster lost: until it is out of all of them. Raw writes only the decisions, by as many requests at a time. changes/s:
decisions changed in a second. MB: growth of the process by the controller. zone: services that the built-in DNS
server takes into its zone in a second, new ones and changed ones.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


class MadeUpRegistry:
    """A registry of clusters that only say how they are."""

    def __init__(self, count: int) -> None:
        self._clusters = [
            Cluster(f"c{number:03}", ready=True, region=f"r{number % 7}", zones=(f"r{number % 7}-a",))
            for number in range(count)
        ]
        self._listeners: list[Callable[[str], None]] = []

    def clusters(self) -> list[Cluster]:
        """Return all of them."""
        return self._clusters

    def attach(self, _work: object) -> None:
        """Run nothing: there is no cluster to do anything in."""

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Note who wants to hear of changes."""
        self._listeners.append(listener)

    async def wait_synced(self) -> None:
        """Know everything from the start."""

    def lose(self) -> str:
        """Have the first cluster go offline."""
        lost = self._clusters[0]
        self._clusters = [replace(lost, ready=False, offline=True), *self._clusters[1:]]
        for listener in self._listeners:
            listener(lost.name)
        return lost.name


class MadeUpView:
    """A view of services that every cluster has with an address of its own."""

    def __init__(self, sources: Iterable[Obj], registry: MadeUpRegistry) -> None:
        self._sources = {source["metadata"]["name"]: source for source in sources}
        self._registry = registry
        self.farewells = Farewells()

    def subscribe(self, _kind: object, _listener: object) -> None:
        """Tell nothing: copies do not change."""

    def knows(self, _target: Ref) -> bool:
        """Know everything from the start."""
        return True

    def targets(self, _kind: object) -> list[Ref]:
        """Return every service."""
        return [Ref(SERVICES, Key(_NAMESPACE, name)) for name in self._sources]

    def speaker(self, target: Ref) -> Speaker:
        """Return the federation's Service."""
        return Speaker(target, self._sources[target.key.name])

    def observe(self, target: Ref, _speaker: Speaker) -> dict[str, Observation]:
        """Return the copies."""
        number = int(target.key.name.removeprefix("s"))
        return {
            cluster.name: Observation(seen=True, copy=_copy(number, place))
            for place, cluster in enumerate(self._registry.clusters())
        }

    def remember(self, ref: Ref, obj: Obj, *, quietly: bool = False) -> None:
        """Take in what was written."""
        self._sources[ref.key.name] = obj


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run took."""

    raw_create: float
    named: float
    raw_update: float
    lost: float
    megabytes: float
    zone_new: float
    zone_changed: float

    def cells(self, services: int) -> list[str]:
        """Return the figures as cells of a table."""
        return [
            f"{self.raw_create:.2f}",
            f"{self.named:.2f} s ({self.named / self.raw_create:.1f}×)",
            f"{self.raw_update:.2f}",
            f"{self.lost:.2f} s ({self.lost / self.raw_update:.1f}×)",
            f"{services / self.lost:.0f}",
            f"{self.megabytes:.0f}",
            f"{services / self.zone_new:.0f} / {services / self.zone_changed:.0f}",
        ]


async def measure(services: int, clusters: int) -> Measured:
    """Name the services, lose a cluster, and write the same by hand."""
    runtime = SystemRuntime()
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Client(server.connect(_USER, as_remote=True), runtime)
    try:
        await prepare_host(host)
        await host.create(FEDERATIONS, federation_manifest("federation", "example.com"))
        sources = [await host.create(SERVICES, _service(number)) for number in range(services)]
        registry = MadeUpRegistry(clusters)
        view = MadeUpView(sources, registry)
        controller = ServiceController(host, cast("Registry", registry), cast("View", view))
        before = _memory_mb()
        begin = time.perf_counter()
        running = asyncio.create_task(controller.run())
        named = await _until(server, host, services, serving=clusters) - begin
        begin = time.perf_counter()
        registry.lose()
        lost = await _until(server, host, services, serving=clusters - 1) - begin
        grown = _memory_mb() - before
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        raw_create, raw_update = await _by_hand(host)
        zone_new, zone_changed = await _into_a_zone(host, runtime)
    finally:
        await server.close()
    return Measured(raw_create, named, raw_update, lost, grown, zone_new, zone_changed)


async def _until(server: ApiServer, host: Client, services: int, *, serving: int) -> float:
    """Wait until every service is served by so many clusters, and says so itself; returns when that was so."""
    revision, since = server.revision, time.perf_counter()
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        if server.revision != revision:
            revision, since = server.revision, time.perf_counter()
        elif time.perf_counter() - since > _QUIET_SECONDS:
            # To look at all of them costs much, so that it is done when nothing is written any more.
            if await _all_are(host, services, serving):
                return since
            since = time.perf_counter()


async def _all_are(host: Client, services: int, serving: int) -> bool:
    found = [each for each in (await host.list(SERVICE_ADDRESSES)).items if each["spec"]["serving"] == serving]
    if len(found) != services:
        return False
    told = "SomeOut" if found[0]["spec"]["clusters"][0].get("why") else "AllServe"
    said = (await host.list(SERVICES, _NAMESPACE)).items
    return sum(_says(each, told) for each in said) == services


def _says(service: Obj, reason: str) -> bool:
    return any(each["reason"] == reason for each in service["status"].get("conditions", ()))


async def _by_hand(host: Client) -> tuple[float, float]:
    """Write the same objects as they were decided, new ones and then again."""
    listed = (await host.list(SERVICE_ADDRESSES)).items
    for each in listed:
        await host.delete(SERVICE_ADDRESSES, each["metadata"]["name"], _NAMESPACE, uid=uid_of(each))
    bare = [{**each, "metadata": {"name": each["metadata"]["name"], "namespace": _NAMESPACE}} for each in listed]
    made: list[Obj] = []

    async def create(obj: Obj) -> None:
        made.append(await host.create(SERVICE_ADDRESSES, obj))

    async def update(obj: Obj) -> None:
        await host.update(SERVICE_ADDRESSES, {**obj, "spec": {**obj["spec"], "ttlSeconds": 60}})

    return await _timed(create, bare), await _timed(update, made)


async def _timed(write: Callable[[Obj], Coroutine[Any, Any, None]], objects: Iterable[Obj]) -> float:
    waiting = iter(list(objects))

    async def work() -> None:
        for each in waiting:
            await write(each)

    begin = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(_WIDTH)))
    return time.perf_counter() - begin


async def _into_a_zone(host: Client, runtime: SystemRuntime) -> tuple[float, float]:
    """Have a DNS server's book take in every service, and then again without one of its clusters."""
    book = Book(Zones(), runtime)
    book.take_federation((await host.list(FEDERATIONS)).items[0])
    found = (await host.list(SERVICE_ADDRESSES)).items
    took = []
    for _ in range(2):
        begin = time.perf_counter()
        for each in found:
            book.take_service(parse_addresses(each).key, each)
        book.zones.commit(runtime.now())
        took.append(time.perf_counter() - begin)
        found = [{**each, "spec": {**each["spec"], "clusters": each["spec"]["clusters"][:-1]}} for each in found]
    return took[0], took[1]


def _service(number: int) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"s{number}", "namespace": _NAMESPACE},
        "spec": {"type": "LoadBalancer", "ports": [{"name": "http", "port": 80}], "selector": {"app": f"s{number}"}},
    }


def _copy(number: int, place: int) -> Obj:
    ingress = [{"ip": f"10.{place}.{number // 250}.{number % 250 + 1}"}]
    spec = {"type": "LoadBalancer", "clusterIP": "10.96.0.1", "ports": [{"name": "http", "port": 80}]}
    return {"metadata": {"name": f"s{number}"}, "spec": spec, "status": {"loadBalancer": {"ingress": ingress}}}


def _memory_mb() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss) / 1e6


def main() -> int:
    """Measure and record."""
    parser = argparse.ArgumentParser(prog="python -m bench.services", description=__doc__)
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--clusters", type=int, default=50)
    parser.add_argument("--dry-run", action="store_true", help="print, and record nothing")
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    measured = asyncio.run(measure(args.services, args.clusters))
    command = shlex.join(["python", "-m", "bench.services", *sys.argv[1:]])
    told = line([time.strftime("%Y-%m-%d"), _commit(), f"`{command}`", *measured.cells(args.services)])
    if not args.dry_run:
        append_results([told], _HEADING)
    print("\n".join(f"{name}: {cell}" for name, cell in zip(_COLUMNS[3:], measured.cells(args.services), strict=True)))
    return 0


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "–"


if __name__ == "__main__":
    sys.exit(main())
