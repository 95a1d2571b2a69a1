"""Measures the Kubernetes machinery against bare HTTP on a real API server and adds the result to RESULTS.md.

Starts one real API server, etcd with fsync, and measures in one run: creates a second, the first sync of a cache,
the memory of cached objects, and how late a cache's handler hears of changes.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, replace

from bench.harness.rest import log
from bench.kube.creates import measure_creates
from bench.kube.delivery import measure_delivery
from bench.kube.memory import measure_memory
from bench.kube.report import Measured, add_result, result_line, table
from bench.kube.syncing import measure_syncing
from bench.results import RESULTS
from hanse.cli.running import run
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.http import HttpTransport
from hanse.kube.resources import NAMESPACES
from tests.kubernetes.real import HOST, RealCluster, real_clusters

_CLUSTER = "machinery"
_CREATED, _WARM_UP, _STAMPED = "created", "warm-up", "stamped"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured."""

    rounds: int
    creates: int
    cached: int
    rate: float
    changes: int


# The creates of all rounds are the objects that are listed and synced afterwards: 10,000 in the full run.
FULL = Extent(rounds=5, creates=1_000, cached=100_000, rate=200.0, changes=4_000)
QUICK = Extent(rounds=3, creates=200, cached=10_000, rate=200.0, changes=600)


async def measure(cluster: RealCluster, extent: Extent) -> Measured:
    """Measure all four on one cluster, one after the other."""
    context = f"{cluster.name}-token"
    endpoint = Kubeconfig.load(cluster.kubeconfig).endpoint(context)
    client = Client(HttpTransport(endpoint), SystemRuntime())
    try:
        for namespace in (_CREATED, _WARM_UP, _STAMPED):
            manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            await client.create(NAMESPACES, manifest)
        log(f"{2 * extent.rounds} rounds of {extent.creates} creates")
        creates = await measure_creates(
            endpoint, client, _CREATED, rounds=extent.rounds, count=extent.creates, warm_up=_WARM_UP
        )
        log("lists and syncs of what was created")
        syncing = await measure_syncing(endpoint, client, _CREATED, rounds=extent.rounds)
        log(f"{extent.changes} changes, {extent.rate:g} a second")
        delivery = await measure_delivery(
            client, cluster.kubeconfig, context, _STAMPED, rate=extent.rate, count=extent.changes
        )
    finally:
        await client.close()
    log(f"{extent.cached} cached objects")
    return Measured(creates, syncing, measure_memory(extent.cached), delivery)


def main() -> int:
    """Run the bench, print its table and keep its result."""
    parser = argparse.ArgumentParser(prog="python -m bench.machinery", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, to see that the bench works")
    args = parser.parse_args()
    with real_clusters({_CLUSTER: replace(HOST, fsync=True)}) as clusters:
        found = run(lambda: measure(clusters[_CLUSTER], QUICK if args.quick else FULL))
    print(table(found))
    command = shlex.join(["python", "-m", "bench.machinery", *sys.argv[1:]])
    add_result(RESULTS, result_line(found, date=time.strftime("%Y-%m-%d"), commit=_commit(), command=command))
    return 0


def _commit() -> str:
    asked = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or "–"


if __name__ == "__main__":
    sys.exit(main())
