"""A federated VitessCluster of 3 members × 3 cells × 4 keyspaces × 8 shards: split time, objects, host writes.

`python -m bench.vitess` adds a line to RESULTS.md. The split is measured by itself; writes are counted on a federation
in this process, on virtual time, from the creation of the object until nothing is written any more.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from statistics import median

import orjson

from bench.results import append_results, line
from hanse.api.planetscale.kinds import VITESS_CLUSTERS
from hanse.kube.manifest import Obj
from hanse.simulator.virtual_time import run_virtually
from hanse.vitess.federated.homes import Site
from hanse.vitess.federated.plan import Plan
from hanse.vitess.federated.planning import Facts, next_plan
from hanse.vitess.federated.reading import all_shards
from hanse.vitess.federated.splitting import split
from tests.simulation.playing import quietly
from tests.simulation.vitess.federated.net import cell_address
from tests.simulation.vitess.federated.operator import NAME, NAMESPACE
from tests.simulation.vitess.federated.world import LOCKSERVER, VitessWorld, keyspace, vitess_world

MEMBERS, CELLS, KEYSPACES, SHARDS = 3, 3, 4, 8
_ROUNDS = 50
_QUIET_SECONDS = 120.0


_COLUMNS = (
    "date",
    "commit",
    "command",
    "members × cells × keyspaces × shards, tablets",
    "plan / split ms",
    "objects in members",
    "host writes",
    "writes in one member",
)
_HEADING = f"""# Vitess over many clusters: one object and what becomes of it

Plan and split by themselves; writes on a federation in this process on virtual time, from the creation of the
VitessCluster until nothing is written any more.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


def homes() -> dict[str, str]:
    """Return three cells in each of three members."""
    return {f"cell{member}{cell}": f"m{member}" for member in range(MEMBERS) for cell in range(CELLS)}


def big() -> Obj:
    """Write the VitessCluster that is measured: a replica of every shard in every cell."""
    cells = [
        {"name": cell, "cluster": home, "lockserver": {"etcd": {}, "cellInfoAddress": cell_address(cell)}}
        for cell, home in homes().items()
    ]
    pools: list[Obj] = [{"cell": cell, "type": "replica", "replicas": 1, "mysqld": {}} for cell in homes()]
    external = {"implementation": "etcd2", "address": LOCKSERVER.address, "rootPath": LOCKSERVER.root}
    return {
        "apiVersion": VITESS_CLUSTERS.api_version,
        "kind": VITESS_CLUSTERS.kind,
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "globalLockserver": {"external": external},
            "cells": cells,
            "keyspaces": [keyspace(f"ks{place}", pools, SHARDS) for place in range(KEYSPACES)],
        },
    }


def measure_split() -> tuple[float, float, Plan]:
    """Return the seconds of a plan and of a split, and the plan."""
    source, facts = big(), Facts([Site(f"m{place}") for place in range(MEMBERS)])
    plans, splits = [], []
    plan = next_plan(source, None, facts).plan
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        plan = next_plan(source, plan, facts).plan
        between = time.perf_counter()
        split(source, plan)
        plans.append(between - begin)
        splits.append(time.perf_counter() - between)
    return median(plans), median(splits), plan


async def measure_writes() -> dict[str, int]:
    """Return how often the host and the members were written to until all is quiet."""
    async with vitess_world(homes=homes()) as world:
        # Only the split is measured: nobody runs the parts.
        for name in list(world.running):
            await world.kill_operator(name)
        world.forget_writes()
        await world.host.create(VITESS_CLUSTERS, big())
        await _quiet(world)
        return {name: len(writes) for name, writes in world.writes().items()}


async def _quiet(world: VitessWorld) -> None:
    before = -1
    while (count := sum(map(len, world.writes().values()))) != before:
        before = count
        await asyncio.sleep(_QUIET_SECONDS)


def main() -> int:
    """Run the bench and print its line."""
    parser = argparse.ArgumentParser(prog="python -m bench.vitess", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="print the line without adding it to RESULTS.md")
    asked = parser.parse_args()
    planned, parted, plan = measure_split()
    parts = split(big(), plan)
    tablets = sum(len(list(shard.identities())) for shard in all_shards(big()["spec"]))
    with quietly():
        writes = run_virtually(measure_writes)
    host = writes.pop("host", 0)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    cells = [
        f"{MEMBERS} × {CELLS} × {KEYSPACES} × {SHARDS}, {tablets}",
        f"{planned * 1000:.2f} / {parted * 1000:.2f}",
        f"{len(parts)} of {max(len(orjson.dumps(part)) for part in parts.values())} bytes at most",
        str(host),
        str(max(writes.values())),
    ]
    shown = line([time.strftime("%Y-%m-%d"), commit.stdout.strip(), "`python -m bench.vitess`", *cells])
    sys.stdout.write(f"{shown}\n")
    if not asked.dry_run:
        append_results([shown], _HEADING)
    return 0


if __name__ == "__main__":
    sys.exit(main())
