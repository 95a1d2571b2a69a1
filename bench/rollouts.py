"""Measures how fast applications roll out over many clusters, and adds the result to RESULTS.md.

    python -m bench.rollouts [--applications 200] [--clusters 3] [--rounds 5] [--dry-run]

Host and clusters are embedded API servers in this process, on real time; the clusters are simulated, with pods that
take half a second to a second to start. Manifests are plain ones of a ConfigMap, so that no Helm is measured. All
applications are written at once and brought to their first step, then all at once to their second. After that, in the
same federation at rest, one application of ten pods makes a step, and beside it a plain Deployment of one pod, of the
same cluster, is scaled to ten: a step cannot be faster than its pods.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import structlog
import yaml

from bench.results import append_results, line
from bench.scale import Meter
from hanse.api.shipper.kinds import APPLICATIONS, CLUSTERS_ANNOTATION, RELEASES
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.control_plane import prepare_host, run_control_plane, serve_applications
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, annotations_of, dig, name_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from hanse.kube.runtime import SystemRuntime
from hanse.kube.transport import Transport
from hanse.rollouts.sources import ManifestSources, SourceSettings
from hanse.simulator import ClusterSettings, SimulatedCluster

_MASTERS = ("system:masters",)
_USER = Identity("user", _MASTERS)
_SIMULATOR = Identity("simulator", _MASTERS)
_CONTROL_PLANE = Identity("hanse-controller", _MASTERS)
_HOST = "host"
_NAMESPACE = "default"
_REPLICAS = 2
_ONE_REPLICAS = 10
_NODES = 10
_WIDTH = 16
_LONGEST_SECONDS = 1800.0
_REST_SECONDS = 3.0
_COLUMNS = (
    "date",
    "commit",
    "command",
    "applications × clusters",
    "first step s",
    "second step s",
    "host writes an application, first / second step",
    "member writes an application and cluster, first / second step",
    "one step s",
    "its pods s",
    "ratio",
)
_HEADING = f"""# Rollouts: how long a step takes

Host and clusters are embedded API servers in one process, on real time; pods of the simulated clusters take half a
second to a second to start. first step: from the first write of an Application until all have achieved a step of one
pod in each cluster; second: from the first write of a targetStep until all are complete, with {_REPLICAS} pods in each
cluster and in traffic. Writes are requests of the control plane that change anything, events among them. one step: in
the same federation at rest, from the write of a targetStep until a release of {_ONE_REPLICAS} pods in one cluster is
complete, all of them in traffic; its pods: a plain Deployment in that cluster, scaled from one pod to {_ONE_REPLICAS},
until all are available (target: 3 times that); medians.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass(frozen=True, slots=True)
class Phase:
    """How long a step of all applications took, and how many writes the host and the members saw."""

    seconds: float
    host_writes: int
    member_writes: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run took."""

    applications: int
    clusters: int
    first: Phase
    second: Phase
    step_seconds: float
    pods_seconds: float

    def cells(self) -> list[str]:
        """Return the figures as cells of a table."""
        phases, copies = (self.first, self.second), self.applications * self.clusters
        return [
            f"{self.applications} × {self.clusters}",
            *(f"{phase.seconds:.1f}" for phase in phases),
            " / ".join(f"{phase.host_writes / self.applications:.1f}" for phase in phases),
            " / ".join(f"{phase.member_writes / copies:.1f}" for phase in phases),
            f"{self.step_seconds:.2f}",
            f"{self.pods_seconds:.2f}",
            f"{self.step_seconds / self.pods_seconds:.2f}×",
        ]


class Fleet:
    """A host, simulated clusters and a control plane in this process."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.runtime = SystemRuntime()
        self.clients: dict[str, Client] = {}
        self._servers: dict[str, ApiServer] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, clusters: int) -> None:
        """Start everything and have every cluster join."""
        self.host = await self._open(_HOST)
        await prepare_host(self.host)
        await serve_applications(self.host)
        for number in range(clusters):
            name = f"c{number}"
            await self._open(name)
            settings = ClusterSettings(name=name, index=number, region="local", zones=("a",), nodes=_NODES)
            client = Client(self._servers[name].connect(_SIMULATOR), self.runtime, manager="hanse-simulator")
            cluster = SimulatedCluster(client, settings, self.runtime)
            self._tasks.append(asyncio.create_task(cluster.run()))
            await cluster.ready()
            await join(self.host, joining_manifests(name, Endpoint(f"https://{name}"), {}))
        host = Client(self._servers[_HOST].connect(_CONTROL_PLANE, as_remote=True), self.runtime)
        sources = ManifestSources(host, SourceSettings())
        self._tasks.append(asyncio.create_task(run_control_plane(host, connect=self._reach, sources=sources)))

    def _reach(self, endpoint: Endpoint) -> Transport:
        server = self._servers[endpoint.server.removeprefix("https://")]
        return server.connect(_CONTROL_PLANE, as_remote=True)

    async def _open(self, name: str) -> Client:
        server = await ApiServer.open(name=name, storage=MemoryStorage(), runtime=self.runtime)
        server.gate = self.meter.gate(name)
        self._servers[name] = server
        self.clients[name] = Client(server.connect(_USER), self.runtime, manager="kubectl")
        return self.clients[name]

    def also(self, work: Coroutine[Any, Any, None]) -> None:
        """Have something run until everything ends."""
        self._tasks.append(asyncio.create_task(work))

    def writes(self) -> tuple[int, int]:
        """Return how many writes the host has seen, and how many the members."""
        host = self.meter.writes[_HOST]
        return host, self.meter.writes.total() - host

    async def close(self) -> None:
        """End everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in self._servers.values():
            await server.close()


class Releases:
    """Which step each release has achieved."""

    def __init__(self, host: Client) -> None:
        self.cache = Cache(host, RELEASES)
        self.achieved: dict[str, int] = {}
        self._changed = asyncio.Event()
        self.cache.subscribe(self._note)

    def _note(self, change: Change) -> None:
        if change.new is not None:
            self.achieved[name_of(change.new)] = dig(change.new, "status", "achievedStep", "step", default=-1)
        self._changed.set()

    async def until(self, holds: Callable[[dict[str, int]], bool]) -> None:
        """Wait until something holds of the steps by release."""
        async with asyncio.timeout(_LONGEST_SECONDS):
            while not holds(self.achieved):
                self._changed.clear()
                await self._changed.wait()


async def measure(applications: int, clusters: int, rounds: int) -> Measured:
    """Measure all applications at once, and then some one by one."""
    fleet = Fleet()
    try:
        await fleet.open(clusters)
        releases = Releases(fleet.host)
        fleet.also(releases.cache.run())
        first = await _phase(fleet, releases, applications, 0, lambda: _write_all(fleet.host, applications, clusters))
        second = await _phase(fleet, releases, applications, 1, lambda: _advance_all(fleet.host, releases))
        steps, pods = [], []
        for number in range(rounds):
            await asyncio.sleep(_REST_SECONDS)
            seconds, cluster = await _one_step(fleet.host, releases, f"one-{number}")
            steps.append(seconds)
            await asyncio.sleep(_REST_SECONDS)
            pods.append(await _only_pods(fleet.clients[cluster], f"plain-{number}"))
        return Measured(applications, clusters, first, second, statistics.median(steps), statistics.median(pods))
    finally:
        await fleet.close()


async def _phase(
    fleet: Fleet, releases: Releases, count: int, step: int, act: Callable[[], Coroutine[Any, Any, None]]
) -> Phase:
    """Do something to all applications and wait until all of them have achieved a step."""
    await asyncio.sleep(_REST_SECONDS)
    before, begin = fleet.writes(), time.perf_counter()
    await act()
    await releases.until(lambda achieved: sum(reached == step for reached in achieved.values()) == count)
    seconds = time.perf_counter() - begin
    await asyncio.sleep(_REST_SECONDS)
    host, members = (now - then for now, then in zip(fleet.writes(), before, strict=True))
    return Phase(seconds, host, members)


async def _write_all(host: Client, applications: int, clusters: int) -> None:
    names = [f"app-{number:03}" for number in range(applications)]
    await _several(_write(host, name, _REPLICAS, clusters) for name in names)


async def _advance_all(host: Client, releases: Releases) -> None:
    await _several(_advance(host, name) for name in list(releases.achieved))


async def _several(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all of it, some of it at a time, as people and pipelines would."""
    turns = asyncio.Semaphore(_WIDTH)

    async def take(one: Coroutine[Any, Any, None]) -> None:
        async with turns:
            await one

    await asyncio.gather(*(take(one) for one in work))


async def _write(host: Client, name: str, replicas: int, clusters: int) -> None:
    await host.create(CONFIGMAPS, _packed(name, replicas))
    await host.create(APPLICATIONS, _application(name, clusters))


async def _advance(host: Client, release: str) -> None:
    await host.patch(RELEASES, release, {"spec": {"targetStep": 1}}, _NAMESPACE)


async def _one_step(host: Client, releases: Releases, name: str) -> tuple[float, str]:
    """Return how long a step of one application takes that goes from one pod to all, and in which cluster it is."""
    await _write(host, name, _ONE_REPLICAS, 1)
    await releases.until(lambda achieved: any(each.startswith(f"{name}-") and achieved[each] == 0 for each in achieved))
    (release,) = [each for each in releases.achieved if each.startswith(f"{name}-")]
    await asyncio.sleep(_REST_SECONDS)
    begin = time.perf_counter()
    await _advance(host, release)
    await releases.until(lambda achieved: achieved[release] == 1)
    seconds = time.perf_counter() - begin
    return seconds, annotations_of(await host.get(RELEASES, release, _NAMESPACE))[CLUSTERS_ANNOTATION]


async def _only_pods(member: Client, name: str) -> float:
    """Return how long a plain Deployment takes from one pod to all."""
    workload = _deployment(name, 1)
    workload["metadata"]["namespace"] = _NAMESPACE
    await member.create(DEPLOYMENTS, workload)
    await _available(member, name, 1)
    await asyncio.sleep(_REST_SECONDS)
    begin = time.perf_counter()
    await member.patch(DEPLOYMENTS, name, {"spec": {"replicas": _ONE_REPLICAS}}, _NAMESPACE)
    await _available(member, name, _ONE_REPLICAS)
    return time.perf_counter() - begin


async def _available(member: Client, name: str, count: int) -> None:
    events = member.watch(DEPLOYMENTS, _NAMESPACE, version="0", timeout_seconds=600)
    async with aclosing(events):
        async for event in events:
            available = dig(event.object, "status", "availableReplicas", default=0)
            if event.type in ("ADDED", "MODIFIED") and name_of(event.object) == name and available == count:
                return


# What people write


def _application(name: str, clusters: int) -> Obj:
    steps = [
        {"name": "staging", "capacity": _pair(100, 1), "traffic": _pair(100, 0)},
        {"name": "full on", "capacity": _pair(0, 100), "traffic": _pair(0, 100)},
    ]
    template = {
        "source": {"manifests": {"location": f"configmap://{name}"}},
        "clusterRequirements": {"regions": [{"name": "local", "replicas": clusters}]},
        "strategy": {"steps": steps},
        "values": {},
    }
    return {
        "apiVersion": APPLICATIONS.api_version,
        "kind": APPLICATIONS.kind,
        "metadata": {"name": name, "namespace": _NAMESPACE},
        "spec": {"template": template},
    }


def _pair(incumbent: int, contender: int) -> Obj:
    return {"incumbent": incumbent, "contender": contender}


def _packed(name: str, replicas: int) -> Obj:
    ports = [{"name": "http", "port": 80}]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": ports},
    }
    metadata = {"name": name, "namespace": _NAMESPACE}
    data = {"all.yaml": yaml.safe_dump_all([service, _deployment(name, replicas)])}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _deployment(name: str, replicas: int) -> Obj:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def main() -> int:
    """Measure and record."""
    parser = argparse.ArgumentParser(prog="python -m bench.rollouts", description=__doc__)
    parser.add_argument("--applications", type=int, default=200, help="(default: %(default)s)")
    parser.add_argument("--clusters", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="steps of one application (default: %(default)s)")
    parser.add_argument("--dry-run", action="store_true", help="print, and record nothing")
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    measured = asyncio.run(measure(args.applications, args.clusters, args.rounds))
    command = shlex.join(["python", "-m", "bench.rollouts", *sys.argv[1:]])
    told = line([time.strftime("%Y-%m-%d"), _commit(), f"`{command}`", *measured.cells()])
    if not args.dry_run:
        append_results([told], _HEADING)
    print("\n".join(f"{name}: {cell}" for name, cell in zip(_COLUMNS[3:], measured.cells(), strict=True)))
    return 0


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "–"


if __name__ == "__main__":
    sys.exit(main())
