"""A small Vitess in memory for the tests of topology: two keyspaces in two cells, and what was left behind."""

from __future__ import annotations

from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import (
    CellInfo,
    Keyspace,
    KeyspacePartition,
    Shard,
    ShardReference,
    ShardReplication,
    SrvKeyspace,
    Tablet,
    TabletAlias,
    TabletType,
    VSchema,
)
from hanse.kube.runtime import SeededRuntime
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from hanse.vitess.topology.steps import Told

PARAMS = LockserverParams("etcd2", "global:2379", "/vitess/shop/global")


class SmallVitess:
    """A topology whose cells each have a lockserver of their own; `servers` stops and starts them."""

    def __init__(self, cells=("zone1", "zone2")):
        runtime = SeededRuntime()
        self.servers = {"global:2379": MemoryLockserver(runtime)}
        self.servers |= {f"{cell}:2379": MemoryLockserver(runtime) for cell in cells}
        self.topology = Topology(MemoryStores(self.servers), PARAMS)
        self.cells = cells

    async def register(self):
        for cell in self.cells:
            await self.topology.create(paths.cell_info(cell), info(cell))

    async def shard(self, keyspace, shard, tablets, *, primary=None, serving=()):
        """Write a shard with its tablets, as `zone1-0000000100`, and the cells in which it serves."""
        await self.topology.ensure(paths.keyspace(keyspace), Keyspace())
        await self.topology.ensure(paths.vschema(keyspace), VSchema())
        head = TabletAlias.parse(primary) if primary else None
        await self.topology.create(paths.shard(keyspace, shard), Shard(primary_alias=head))
        aliases = [TabletAlias.parse(each) for each in tablets]
        for alias in aliases:
            kind = TabletType.PRIMARY if alias == head else TabletType.REPLICA
            record = Tablet(alias=alias, keyspace=keyspace, shard=shard, type=kind)
            await self.topology.create(paths.tablet(alias), record)
        for cell in {alias.cell for alias in aliases}:
            listed = ShardReplication.of(tuple(alias for alias in aliases if alias.cell == cell))
            await self.topology.create(paths.shard_replication(cell, keyspace, shard), listed)
        for cell in serving:
            partition = KeyspacePartition(TabletType.PRIMARY, (ShardReference(shard),))
            await self.topology.ensure(paths.srv_keyspace(cell, keyspace), SrvKeyspace((partition,)))

    def paths(self):
        """Return every file there is, without roots."""
        return sorted(
            path.removeprefix("vitess/shop/").removeprefix("local/")
            for server in self.servers.values()
            for path in server.files()
        )


def info(cell):
    return CellInfo(f"{cell}:2379", f"/vitess/shop/local/{cell}")


def texts(steps):
    """Return steps as people read them."""
    return [f"{type(step).__name__}: {step.message if isinstance(step, Told) else step}" for step in steps]
