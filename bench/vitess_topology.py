"""Measures how long one look at Vitess' topology takes with many tablets on real etcd, and adds it to RESULTS.md.

    python -m bench.vitess_topology [--tablets 300] [--cells 3] [--rounds 5] [--dry-run]

etcd with fsync on this machine. Tablets register themselves; then everything is read and planned as an operator does it
when nothing has to be changed, and again when a tenth of the tablets and one of the shards are left over and pruned.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.results import append_results, line
from hanse.api.planetscale.values import LockserverParams, TopologySwitches
from hanse.api.vitess_records.topology import CellInfo, Tablet, TabletAlias, TabletType
from hanse.cli.running import run
from hanse.kube.runtime import SystemRuntime
from hanse.vitess.key_ranges import equal_ranges
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.applying import perform
from hanse.vitess.topology.etcd import EtcdStores
from hanse.vitess.topology.picture import read_picture
from hanse.vitess.topology.planning import (
    plan_cells,
    prune_keyspaces,
    prune_shard_cells,
    prune_shards,
    prune_srv_keyspaces,
    prune_tablets,
)
from hanse.vitess.topology.registering import TopologyRegistry
from hanse.vitess.topology.steps import Step, Told
from tests.kubernetes.real.processes import GuardedProcesses
from tests.kubernetes.vitess.programs import start_etcd

_KEYSPACE = "orders"
_SHARDS = 8
_TARGET_SECONDS = 1.0
_COLUMNS = (
    "date",
    "commit",
    "command",
    "tablets × cells",
    "registration s",
    "nothing to do s, median / worst",
    "pruned",
    "pruning s",
)
_HEADING = f"""# Vitess: one look at topology

etcd with fsync, one machine. registration: all tablets register themselves, 16 at a time; nothing to do: everything is
read from the global lockserver and those of the cells, and planned as for a VitessCluster with all its switches on
(target: {_TARGET_SECONDS:g} s); pruning: the same with what is left over, until it is gone and nothing else is.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """Which tablets and shards shall exist."""

    etcd: str
    cells: tuple[str, ...]
    shards: tuple[str, ...]
    tablets: dict[TabletAlias, str]

    def plan(self, picture, gone=frozenset()) -> list[Step]:
        """Plan as all layers of an operator do together."""
        switches = TopologySwitches()
        shards = {shard for alias, shard in self.tablets.items() if alias not in gone}
        infos = {cell: self.info(cell) for cell in self.cells}
        steps = plan_cells(picture, infos, [], switches)
        steps += prune_keyspaces(picture, self.cells, [_KEYSPACE], [], switches)
        for cell in self.cells:
            steps += prune_srv_keyspaces(picture, cell, [_KEYSPACE], switches)
        for shard in sorted(shards):
            present = {alias for alias, name in self.tablets.items() if name == shard and alias not in gone}
            there = {alias.cell for alias in present}
            steps += prune_tablets(picture, self.cells, _KEYSPACE, shard, present, switches)
            steps += prune_shard_cells(picture, self.cells, _KEYSPACE, shard, there, switches)
        return steps + prune_shards(picture, self.cells, _KEYSPACE, shards, switches)

    def info(self, cell: str) -> CellInfo:
        return CellInfo(self.etcd, f"/vitess/bench/local/{cell}")


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured."""

    registration: float
    calm: list[float]
    pruned: int
    pruning: float

    def cells(self) -> list[str]:
        """Return what the table shows."""
        calm = f"{statistics.median(self.calm):.3f} / {max(self.calm):.3f}"
        return [f"{self.registration:.2f}", calm, f"{self.pruned}", f"{self.pruning:.2f}"]


async def measure(etcd: str, tablets: int, cells: int, rounds: int) -> Measured:
    stores = EtcdStores(SystemRuntime())
    topology = Topology(stores, LockserverParams("etcd2", etcd, "/vitess/bench/global"))
    names = tuple(f"zone{number}" for number in range(1, cells + 1))
    shards = tuple(str(each) for each in equal_ranges(_SHARDS))
    wish = Wish(
        etcd,
        names,
        shards,
        {TabletAlias(names[number % cells], number): shards[number % _SHARDS] for number in range(tablets)},
    )
    try:
        await perform(topology, wish.plan(await read_picture(topology)))
        registration = await _timed(_register(topology, wish))
        calm = [await _timed(_look(topology, wish, frozenset())) for _ in range(rounds)]
        last = {alias for alias, shard in wish.tablets.items() if shard == shards[-1]}
        gone = frozenset(last | set(list(wish.tablets)[::10]))
        pruning = await _timed(_look(topology, wish, gone))
        left = await read_picture(topology)
        if wish.plan(left, gone) or len(left.tablets_of(_KEYSPACE)) != tablets - len(gone):
            raise RuntimeError("what was to be pruned is not gone, or more is")
        return Measured(registration, calm, len(gone), pruning)
    finally:
        await stores.close()


async def _register(topology: Topology, wish: Wish) -> None:
    registry, gate = TopologyRegistry(topology), asyncio.Semaphore(16)

    async def publish(alias: TabletAlias, shard: str) -> None:
        async with gate:
            ports = {"vt": 15000, "grpc": 15999}
            record = Tablet(alias=alias, keyspace=_KEYSPACE, shard=shard, type=TabletType.REPLICA, port_map=ports)
            await registry.publish(record)

    await asyncio.gather(*(publish(alias, shard) for alias, shard in wish.tablets.items()))


async def _look(topology: Topology, wish: Wish, gone: frozenset[TabletAlias]) -> None:
    """Look until nothing is left to do; what a first look cannot prune yet, the next can."""
    while steps := [each for each in wish.plan(await read_picture(topology), gone) if not isinstance(each, Told)]:
        for told in await perform(topology, steps):
            if told.warning:
                raise RuntimeError(told.message)


async def _timed(work) -> float:
    started = time.perf_counter()
    await work
    return time.perf_counter() - started


def main() -> int:
    """Run the bench and print its line."""
    parser = argparse.ArgumentParser(prog="python -m bench.vitess_topology", description=__doc__)
    parser.add_argument("--tablets", type=int, default=300, help="how many tablets")
    parser.add_argument("--cells", type=int, default=3, help="in how many cells they are")
    parser.add_argument("--rounds", type=int, default=5, help="how often it is looked when nothing is to be done")
    parser.add_argument("--dry-run", action="store_true", help="print the line without adding it to RESULTS.md")
    asked = parser.parse_args()
    processes = GuardedProcesses(Path(tempfile.mkdtemp(prefix="hanse-bench-")))
    try:
        etcd = start_etcd(processes, fsync=True)
        found = run(lambda: measure(etcd, asked.tablets, asked.cells, asked.rounds))
    finally:
        processes.close()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    given = [each for each in sys.argv[1:] if each != "--dry-run"]
    command = shlex.join(["python", "-m", "bench.vitess_topology", *given])
    cells = [f"{asked.tablets} × {asked.cells}", *found.cells()]
    shown = line([time.strftime("%Y-%m-%d"), commit.stdout.strip(), f"`{command}`", *cells])
    sys.stdout.write(f"{shown}\n")
    if not asked.dry_run:
        append_results([shown], _HEADING)
    return 0


if __name__ == "__main__":
    sys.exit(main())
