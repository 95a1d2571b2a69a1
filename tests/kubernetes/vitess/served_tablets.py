"""A shard of simulated tablets, each on its own port, registered in a real topology."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from hanse.api.vitess_records.topology import Tablet, TabletAlias, TabletType
from hanse.kube.runtime import SystemRuntime
from hanse.simulator.tablets.mysql import SimulatedMySQL, SimulatedNetwork
from hanse.simulator.tablets.registry import RegistryOutOfReach
from hanse.simulator.tablets.serving import TabletServer
from hanse.simulator.tablets.tablet import SimulatedTablet
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.registering import TopologyRegistry
from tests.kubernetes.real.ports import free_port


@dataclass
class ServedShard:
    """The tablets of a shard by their aliases, each served and alive until it is killed."""

    topology: Topology
    keyspace: str
    shard: str
    network: SimulatedNetwork = field(default_factory=SimulatedNetwork)
    tablets: dict[str, SimulatedTablet] = field(default_factory=dict)
    _servers: dict[str, TabletServer] = field(default_factory=dict)
    _lives: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def add(self, alias: str, kind: TabletType = TabletType.REPLICA) -> SimulatedTablet:
        """Start a new tablet."""
        named = TabletAlias.parse(alias)
        port, mysql_port = free_port(), named.uid % 10_000 + 30_000
        record = Tablet(
            alias=named,
            hostname="127.0.0.1",
            port_map={"vt": port, "grpc": port},
            keyspace=self.keyspace,
            shard=self.shard,
            type=kind,
            mysql_hostname="127.0.0.1",
            mysql_port=mysql_port,
        )
        mysql = SimulatedMySQL(("127.0.0.1", mysql_port), str(uuid.UUID(int=named.uid)), named.uid, self.network)
        registry = TopologyRegistry(self.topology, RegistryOutOfReach)
        self.tablets[alias] = SimulatedTablet(record, mysql, registry, SystemRuntime())
        await self.start(alias)
        return self.tablets[alias]

    async def start(self, alias: str) -> None:
        """Start a tablet, or start it again."""
        tablet = self.tablets[alias]
        server = TabletServer(tablet, tablet.record.grpc_address)
        await server.start()
        await tablet.start()
        self._servers[alias] = server
        self._lives[alias] = asyncio.create_task(tablet.live())

    async def kill(self, alias: str) -> None:
        """End a tablet and its MySQL, at once; its record stays."""
        self.tablets[alias].mysql.up = False
        life = self._lives.pop(alias)
        life.cancel()
        with suppress(asyncio.CancelledError):
            await life
        await self._servers.pop(alias).stop()

    def alive(self) -> list[str]:
        """Return the tablets that answer."""
        return list(self._servers)

    def primaries(self) -> list[str]:
        """Return the tablets that take writes."""
        return [alias for alias, each in self.tablets.items() if each.mysql.up and not each.mysql.read_only]

    async def close(self) -> None:
        """End all tablets."""
        for alias in list(self._servers):
            await self.kill(alias)


@asynccontextmanager
async def served_shard(
    topology: Topology, keyspace: str, replicas: Sequence[str], rdonly: Sequence[str] = ()
) -> AsyncIterator[ServedShard]:
    """Serve an unsharded keyspace of some tablets."""
    shard = ServedShard(topology, keyspace, "-")
    try:
        for alias in replicas:
            await shard.add(alias)
        for alias in rdonly:
            await shard.add(alias, TabletType.RDONLY)
        yield shard
    finally:
        await shard.close()
