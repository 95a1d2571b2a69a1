"""Measures how much later pods run that run elsewhere, and adds the result to RESULTS.md.

    python -m bench.pods [--pods 1000] [--targets 3] [--width 16] [--dry-run]

Host, source and targets are upstream API servers, controllers and schedulers with simulated nodes; the control plane
and the admission server are processes of their own, all on this machine. Pods are made straight in the targets, then as
many elected ones in the source, then straight in the targets again: the ratio is to the mean of the two. After that
elected and plain pods are tried out one by one in turn (dry run), so that admission is also measured at rest: by the
whole request, since the buckets in which an API server counts how long a webhook took (5 ms, 25 ms) are too coarse.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from bench.harness.rest import changes_in
from bench.results import append_results, line
from hanse.api.admiralty.keys import ELECT, ENABLED, NAMESPACE_LABEL
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client, WriteOptions
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import NAMESPACES, PODS, SERVICE_ACCOUNTS
from hanse.kube.runtime import SystemRuntime
from tests.kubernetes.pods.stage import HOME, PodFederation, pod_federation

_NAMESPACE = "bench"
_NODE_PODS = 110
_TRIALS = 1000
_LONGEST_SECONDS = 1200.0
_REST_SECONDS = 10.0
_ACCOUNT_SECONDS = 60.0
_WEBHOOK = "elected.pods.hanse.dev"
_DURATION = "apiserver_admission_webhook_admission_duration_seconds_bucket"
_COLUMNS = (
    "date",
    "commit",
    "command",
    "pods × targets",
    "plain s",
    "elected s",
    "ratio",
    "writes a plain pod",
    "writes an elected pod, source / targets",
    "admission P99 ms, in the burst",
    "whole request P50 / P99 ms one by one, elected",
    "plain",
)
_HEADING = f"""# Pods that run elsewhere: how much later they run

Upstream API servers, etcd, controllers and schedulers, simulated nodes, all on one machine. plain: from the first
creation until all pods that were made straight in the targets run, the mean of a run before and one after; elected:
until as many pods that were made in the source show there that they run in the targets (target: 3 times that). Writes
are requests that change anything, by whoever, Kubernetes' own components included. Admission in the burst is what the
source's API server measured of Hanse's webhook while all pods are made at once, within its buckets of 5, 25, 100 and
500 ms. One by one: pods that are tried out at rest, the whole request as its client sees it, elected and plain ones
in turn (target for what admission adds to the P99: 10 ms).

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run took."""

    pods: int
    targets: int
    plain: float
    elected: float
    plain_writes: float
    source_writes: float
    target_writes: float
    busy_p99: float
    elected_requests: Sequence[float]
    plain_requests: Sequence[float]

    def cells(self) -> list[str]:
        """Return the figures as cells of a table."""
        return [
            f"{self.pods} × {self.targets}",
            f"{self.plain:.1f}",
            f"{self.elected:.1f}",
            f"{self.elected / self.plain:.2f}×",
            f"{self.plain_writes:.1f}",
            f"{self.source_writes:.1f} / {self.target_writes:.1f}",
            f"{self.busy_p99 * 1000:.1f}",
            _percentiles(self.elected_requests),
            _percentiles(self.plain_requests),
        ]


def _percentiles(seconds: Sequence[float]) -> str:
    cuts = quantiles(seconds, n=100, method="inclusive")
    return f"{cuts[49] * 1000:.1f} / {cuts[98] * 1000:.1f}"


class Running:
    """Counts the pods of a namespace that run, cluster by cluster."""

    def __init__(self, clients: Iterable[Client]) -> None:
        self.caches = [Cache(client, PODS, namespace=_NAMESPACE, labels="app=bench") for client in clients]
        self._running: dict[int, set[str]] = {}
        self._there: dict[int, set[str]] = {}
        self._changed = asyncio.Event()
        for number, cache in enumerate(self.caches):
            self._running[number], self._there[number] = set(), set()
            cache.subscribe(self._noting(number))

    def _noting(self, number: int) -> Callable[[Change], None]:
        def note(change: Change) -> None:
            running = dig(change.new, "status", "phase") == "Running"
            (self._running[number].add if running else self._running[number].discard)(change.key.name)
            here = change.new is not None
            (self._there[number].add if here else self._there[number].discard)(change.key.name)
            self._changed.set()

        return note

    async def until_running(self, count: int) -> None:
        """Wait until so many run."""
        await self._until(lambda: sum(map(len, self._running.values())) >= count)

    async def until_gone(self) -> None:
        """Wait until there is none."""
        await self._until(lambda: not any(self._there.values()))

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(_LONGEST_SECONDS):
            while not holds():
                self._changed.clear()
                await self._changed.wait()


def pod(name: str, *, elected: bool) -> Obj:
    """Return a pod that asks for next to nothing."""
    metadata: Obj = {"name": name, "namespace": _NAMESPACE, "labels": {"app": "bench"}}
    if elected:
        metadata["annotations"] = {ELECT: ""}
    containers = [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


async def in_width(width: int, works: Sequence[Callable[[], object]]) -> None:
    """Do all of some work, so much of it at a time."""
    waiting = list(reversed(works))

    async def one() -> None:
        while waiting:
            done = waiting.pop()()
            if asyncio.iscoroutine(done):
                await done

    await asyncio.gather(*(one() for _ in range(width)))


class Bench:
    """The clients of all clusters, and what is done with them."""

    def __init__(self, federation: PodFederation, width: int) -> None:
        runtime = SystemRuntime()
        self._width = width
        self._kubeconfigs = {name: cluster.kubeconfig for name, cluster in federation.clusters.items()}
        self.clients = {
            name: Client(HttpTransport(Kubeconfig.load(path).endpoint("")), runtime)
            for name, path in self._kubeconfigs.items()
        }
        self.targets = federation.targets

    async def prepare(self) -> None:
        """Make the namespace everywhere; pods of the source's run elsewhere."""
        for name in (HOME, *self.targets):
            metadata = {"name": _NAMESPACE, "labels": {NAMESPACE_LABEL: ENABLED}}
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            await self.clients[name].create(NAMESPACES, manifest)
            await _account_is_there(self.clients[name])

    async def timed(self, where: Sequence[str], pods: Sequence[Obj]) -> float:
        """Return how long it takes until pods that are made in these clusters in turn run; they are deleted then."""
        watched = Running(self.clients[name] for name in where)
        watching = [asyncio.create_task(cache.run()) for cache in watched.caches]
        for cache in watched.caches:
            await cache.wait_synced()
        start = time.monotonic()
        await in_width(self._width, [_making(self.clients[where[n % len(where)]], each) for n, each in enumerate(pods)])
        await watched.until_running(len(pods))
        took = time.monotonic() - start
        self._after = await self.writes()
        for name in where:
            await self.clients[name].delete_collection(PODS, _NAMESPACE, labels="app=bench")
        await watched.until_gone()
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        return took

    @property
    def after(self) -> Mapping[str, int]:
        """How many writes every cluster had seen when the last pods ran."""
        return self._after

    async def writes(self) -> dict[str, int]:
        """Return how many writes every cluster has seen."""
        return {name: changes_in(await self.metrics(name)) for name in self.clients}

    async def metrics(self, name: str) -> str:
        """Return what an API server tells of itself."""
        return (await self.clients[name].get_raw("/metrics")).decode()

    async def try_out(self) -> tuple[list[float], list[float]]:
        """Return how long it takes to have elected pods and plain ones admitted one by one, without creating any."""
        took: tuple[list[float], list[float]] = ([], [])
        for number in range(_TRIALS):
            for elected, seconds in zip((True, False), took, strict=True):
                tried = pod(f"trial-{number}", elected=elected)
                start = time.perf_counter()
                await self.clients[HOME].create(PODS, tried, options=WriteOptions(dry_run=True))
                seconds.append(time.perf_counter() - start)
        return took

    async def close(self) -> None:
        """Close every connection."""
        for client in self.clients.values():
            await client.close()


def _making(client: Client, manifest: Obj) -> Callable[[], object]:
    return lambda: client.create(PODS, manifest)


async def _account_is_there(client: Client) -> None:
    """Wait for what pods of the namespace run as: before that they are refused."""
    async with asyncio.timeout(_ACCOUNT_SECONDS):
        while await client.find(SERVICE_ACCOUNTS, "default", _NAMESPACE) is None:
            await client.runtime.sleep(0.2)


def buckets(metrics: str) -> dict[float, int]:
    """Return the histogram of how long Hanse's webhook took, cumulated, by the upper bound in seconds."""
    found = re.findall(rf'{_DURATION}{{[^}}]*name="{re.escape(_WEBHOOK)}"[^}}]*le="([^"]+)"[^}}]*}} (\d+)', metrics)
    total: dict[float, int] = {}
    for bound, count in found:
        total[float(bound)] = total.get(float(bound), 0) + int(count)
    return total


def p99(before: Mapping[float, int], after: Mapping[float, int]) -> float:
    """Return the 99th percentile between two looks at a histogram, even within a bucket as Prometheus has it."""
    counts = {bound: after[bound] - before.get(bound, 0) for bound in sorted(after)}
    total = counts[max(counts)]
    if not total:
        raise ValueError("the webhook was not called")
    lower, below = 0.0, 0
    for bound, count in counts.items():
        if count >= 0.99 * total:
            return (
                lower if bound == float("inf") else lower + (bound - lower) * (0.99 * total - below) / (count - below)
            )
        lower, below = bound, count
    return lower


async def measure(federation: PodFederation, pods: int, width: int) -> Measured:
    """Measure plain pods, elected ones, and plain ones again."""
    bench = Bench(federation, width)
    try:
        await bench.prepare()
        plain = [pod(f"plain-{number:05}", elected=False) for number in range(pods)]
        elected = [pod(f"elected-{number:05}", elected=True) for number in range(pods)]
        start = await bench.writes()
        first = await bench.timed(bench.targets, plain)
        plain_writes = sum(bench.after[name] - start[name] for name in bench.targets) / pods
        await asyncio.sleep(_REST_SECONDS)
        start, seen = await bench.writes(), buckets(await bench.metrics(HOME))
        middle = await bench.timed([HOME], elected)
        busy = buckets(await bench.metrics(HOME))
        source = (bench.after[HOME] - start[HOME]) / pods
        targets = sum(bench.after[name] - start[name] for name in bench.targets) / pods
        await asyncio.sleep(_REST_SECONDS)
        last = await bench.timed(bench.targets, plain)
        await asyncio.sleep(_REST_SECONDS)
        tried = await bench.try_out()
        return Measured(
            pods,
            len(bench.targets),
            (first + last) / 2,
            middle,
            plain_writes,
            source,
            targets,
            p99(seen, busy),
            *tried,
        )
    finally:
        await bench.close()


def main() -> int:
    """Run the bench and print its line."""
    parser = argparse.ArgumentParser(prog="python -m bench.pods", description=__doc__)
    parser.add_argument("--pods", type=int, default=1000, help="how many pods")
    parser.add_argument("--targets", type=int, default=3, help="in how many clusters they run")
    parser.add_argument("--width", type=int, default=16, help="how many are made at a time")
    parser.add_argument("--dry-run", action="store_true", help="print the line without adding it to RESULTS.md")
    asked = parser.parse_args()
    names = [f"t{number}" for number in range(asked.targets)]
    nodes = max(3, 2 * asked.pods // (asked.targets * _NODE_PODS) + 1)
    with (
        tempfile.TemporaryDirectory() as folder,
        pod_federation(Path(folder), names, nodes=nodes) as federation,
    ):
        measured = asyncio.run(measure(federation, asked.pods, asked.width))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    command = shlex.join(["python", "-m", "bench.pods", *(each for each in sys.argv[1:] if each != "--dry-run")])
    shown = line([time.strftime("%Y-%m-%d"), commit.stdout.strip(), f"`{command}`", *measured.cells()])
    sys.stdout.write(f"{shown}\n")
    if not asked.dry_run:
        append_results([shown], _HEADING)
    return 0


if __name__ == "__main__":
    sys.exit(main())
