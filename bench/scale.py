"""Measures the control plane at the size of a large federation and adds the result to RESULTS.md.

Host and members are embedded API servers in this process, on real time, with nothing that acts on what they store. The
objects are on the host before the control plane starts; then it starts from nothing, and later once more with
everything in place. What the servers themselves take is measured at their gates and told apart.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gc
import logging
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import psutil
import structlog

from bench.scale_records import command_line, commit, note
from bench.scale_report import Measured, append_scale
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.apiserver.answers import AnyAnswer
from hanse.apiserver.gate import Gate, Onward
from hanse.cli.control_plane import prepare_host, run_control_plane
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, Resource
from hanse.kube.runtime import SystemRuntime
from hanse.kube.transport import Request

_MASTERS = ("system:masters",)
_USER = Identity("user", _MASTERS)
_CONTROL_PLANE = Identity("hanse-controller", _MASTERS)
_WRITES = ("POST", "PUT", "PATCH", "DELETE")
_HOST = "host"
_LOOK_SECONDS = 0.5
# Probes and lists of facts go on for ever; the more clusters, the more of a processor they take.
_IDLE_SHARE = 0.4
_LATE_SECONDS = 0.05
_LONGEST_SECONDS = 1800.0


@dataclass(slots=True)
class Meter:
    """What passes the gates: writes by server, when the last one was, and the servers' own processor time."""

    writes: Counter[str] = field(default_factory=Counter)
    last_write: float = 0.0
    server_seconds: float = 0.0

    def gate(self, name: str) -> Gate:
        """Return the gate of one server."""

        async def enter(request: Request, _identity: Identity, onward: Onward) -> AnyAnswer:
            begin = time.process_time()
            # A server on memory does not wait for anything, so that all of this time is its own.
            answer = await onward(request)
            self.server_seconds += time.process_time() - begin
            if request.method in _WRITES:
                self.writes[name] += 1
                self.last_write = time.monotonic()
            return answer

        return enter


class Fleet:
    """A host and its members, and a control plane that is started and ended."""

    def __init__(self) -> None:
        self.meter = Meter()
        self._runtime = SystemRuntime()
        self._servers: dict[str, ApiServer] = {}

    async def open(self, clusters: int) -> None:
        """Start the servers and have every cluster join."""
        self.host = await self._open(_HOST)
        await prepare_host(self.host)
        for number in range(clusters):
            name = f"c{number:03}"
            await self._open(name)
            await join(self.host, joining_manifests(name, Endpoint(f"https://{name}"), {}))

    async def _open(self, name: str) -> Client:
        server = await ApiServer.open(name=name, storage=MemoryStorage(), runtime=self._runtime)
        server.gate = self.meter.gate(name)
        self._servers[name] = server
        return Client(server.connect(_USER), self._runtime, manager="kubectl")

    def start_control_plane(self) -> asyncio.Task[None]:
        """Start it with nothing but what the servers hold."""
        host = Client(self._servers[_HOST].connect(_CONTROL_PLANE, as_remote=True), self._runtime)
        return asyncio.create_task(
            run_control_plane(
                host,
                connect=lambda endpoint: self._servers[endpoint.server.removeprefix("https://")].connect(
                    _CONTROL_PLANE, as_remote=True
                ),
            )
        )

    async def held(self, resource: Resource) -> int:
        """Return how many copies the members hold together."""
        found = 0
        for name, server in self._servers.items():
            if name != _HOST:
                client = Client(server.connect(_USER), self._runtime)
                found += len((await client.list(resource, labels="hanse.dev/managed=true")).items)
        return found

    async def close(self) -> None:
        """End the servers."""
        for server in self._servers.values():
            await server.close()


async def measure(clusters: int, objects: int, rest: float) -> tuple[Measured, Measured]:
    """Return what a cold start and a restart with everything in place take."""
    fleet = Fleet()
    try:
        await fleet.open(clusters)
        for number in range(objects):
            resource, obj = _object(number)
            await fleet.host.create(resource, obj)
        cold = await _measured(fleet, "cold start", rest)
        made = [await fleet.held(resource) for resource in (CONFIGMAPS, DEPLOYMENTS)]
        if sum(made) != objects * clusters:
            raise SystemExit(f"{sum(made)} copies of {objects * clusters} are there: the cold start did not finish")
        return cold, await _measured(fleet, "restart", rest)
    finally:
        await fleet.close()


async def _measured(fleet: Fleet, phase: str, rest_seconds: float) -> Measured:
    fleet.meter.writes.clear()
    before_mb, servers_before = _memory_mb(), fleet.meter.server_seconds
    begin, cpu = time.monotonic(), time.process_time()
    control_plane = fleet.start_control_plane()
    rest = await _wait_idle(fleet.meter, control_plane)
    servers = fleet.meter.server_seconds - servers_before
    spent = time.process_time() - cpu
    taken_mb = _rss_mb() - before_mb
    idle = await _idle_percent(rest_seconds)
    control_plane.cancel()
    await asyncio.gather(control_plane, return_exceptions=True)
    host = fleet.meter.writes.pop(_HOST, 0)
    return Measured(
        phase=phase,
        seconds=rest.since - begin,
        cpu_seconds=spent - servers,
        server_seconds=servers,
        megabytes=taken_mb,
        host_writes=host,
        member_writes=fleet.meter.writes.total(),
        peak_megabytes=rest.peak_mb - before_mb,
        idle_percent=idle,
    )


@dataclass(frozen=True, slots=True)
class _Rest:
    """Since when nothing is done any more, and the most memory that the process had until then."""

    since: float
    peak_mb: float


async def _wait_idle(meter: Meter, control_plane: asyncio.Task[None]) -> _Rest:
    """Wait until hardly anything is done any more."""
    begin, quiet_since, peak = time.monotonic(), 0.0, 0.0
    while time.monotonic() - begin < _LONGEST_SECONDS:
        at, cpu = time.monotonic(), time.process_time()
        await asyncio.sleep(_LOOK_SECONDS)
        if control_plane.done():
            control_plane.result()
        peak = max(peak, _rss_mb())
        lasted = time.monotonic() - at
        # A process that others keep from running takes little time as well; it is late, though.
        if time.process_time() - cpu > _IDLE_SHARE * lasted or lasted > _LOOK_SECONDS + _LATE_SECONDS:
            quiet_since = 0.0
        elif not quiet_since:
            quiet_since = at
        # Status is told some seconds after the last change, so a short rest is not the end.
        elif at - max(quiet_since, meter.last_write) > 4.0:
            return _Rest(max(quiet_since, meter.last_write), peak)
    raise SystemExit(f"the control plane was not idle within {_LONGEST_SECONDS:g} s")


async def _idle_percent(seconds: float) -> float:
    """Return the part of one core that everything takes at rest."""
    at, cpu = time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    return 100 * (time.process_time() - cpu) / (time.monotonic() - at)


def _rss_mb() -> float:
    return float(psutil.Process().memory_info().rss / 1e6)


def _memory_mb() -> float:
    """Return the resident memory once everything that can be given back is."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
    return _rss_mb()


def _object(number: int) -> tuple[Resource, Obj]:
    name = f"object-{number:05}"
    metadata = {"name": name, "namespace": "default", "labels": {"app": name, "team": f"team-{number % 7}"}}
    if number % 2:
        data = {f"key-{place}": f"value {number} {place}" for place in range(8)}
        return CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    # Nothing runs in these members: what asks for no replicas is where it shall be at once.
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": template}
    return DEPLOYMENTS, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def main() -> int:
    """Measure and record."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--clusters", type=int, default=100, help="members (default: %(default)s)")
    parser.add_argument("--objects", type=int, default=1000, help="objects on the host (default: %(default)s)")
    parser.add_argument("--rest", type=float, default=15.0, help="seconds of rest afterwards (default: %(default)s)")
    parser.add_argument("--dry-run", action="store_true", help="print, and record nothing")
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    measured = asyncio.run(measure(args.clusters, args.objects, args.rest))
    lines = [one.line(commit(), command_line(), args.clusters, args.objects) for one in measured]
    if not args.dry_run:
        append_scale(lines)
        for one in measured:
            note("control plane", one.cells(args.clusters, args.objects))
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
