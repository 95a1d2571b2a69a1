"""The network and the databases of a simulated Vitess: who reaches whom, who leads, and who acknowledges writes."""

from __future__ import annotations

from dataclasses import dataclass, field

from hanse.api.vitess_records.topology import CellsAlias, Shard, TabletAlias
from hanse.kube.runtime import Runtime
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores

HOST = "host"
GLOBAL_ADDRESS = "etcd-global.vt.example:2379"
NO_ALIASES = CellsAlias()


def cell_address(cell: str) -> str:
    return f"etcd-{cell}.vt.example:2379"


@dataclass(slots=True)
class Database:
    """One tablet with its MySQL: whether it runs, whom it follows, and how many transactions it has."""

    alias: str
    cell: str
    member: str
    shard: ShardId
    type: str
    alive: bool = False
    leads: bool = False
    source: str = ""
    position: int = 0


@dataclass(slots=True)
class Net:
    """Members, their links, and one lockserver over all of them beside one in each cell."""

    runtime: Runtime
    homes: dict[str, str]
    cuts: set[frozenset[str]] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    etcd_down: set[str] = field(default_factory=set)
    servers: dict[str, MemoryLockserver] = field(default_factory=dict)
    stores: dict[str, MemoryStores] = field(default_factory=dict)
    databases: dict[str, Database] = field(default_factory=dict)
    acknowledged: int = 0

    def __post_init__(self) -> None:
        for address in (GLOBAL_ADDRESS, *map(cell_address, self.homes)):
            self.servers[address] = MemoryLockserver(self.runtime)
        for node in (HOST, *self.members):
            self.stores[node] = MemoryStores(self.servers)

    @property
    def members(self) -> list[str]:
        return list(dict.fromkeys(self.homes.values()))

    def joined(self, one: str, other: str) -> bool:
        """Tell whether two nodes reach each other."""
        if one in self.lost or other in self.lost:
            return False
        return one == other or frozenset({one, other}) not in self.cuts

    def has_quorum(self, node: str) -> bool:
        """Tell whether a node reaches a member of the global lockserver that has a majority."""
        up = [member for member in self.members if member not in self.etcd_down | self.lost]
        majority = len(self.members) // 2 + 1
        return any(
            self.joined(node, member) and sum(self.joined(member, other) for other in up) >= majority for member in up
        )

    def refresh(self) -> None:
        """Let every client's way to every lockserver be as the network is now."""
        for node, stores in self.stores.items():
            stores.link(GLOBAL_ADDRESS).cut = not self.has_quorum(node)
            for cell, home in self.homes.items():
                stores.link(cell_address(cell)).cut = not self.joined(node, home)

    def of(self, shard: ShardId) -> list[Database]:
        return [each for each in self.databases.values() if each.shard == shard]

    def speaks(self, node: str, alias: str) -> Database | None:
        """Return a tablet that runs and that a node reaches."""
        found = self.databases.get(alias)
        return found if found is not None and found.alive and self.joined(node, found.member) else None

    def ackers(self, leader: Database) -> list[Database]:
        """Return who acknowledges a leader's writes: replicas in other cells that follow it."""
        return [
            each
            for each in self.of(leader.shard)
            if each.alive
            and each.type == "replica"
            and each.cell != leader.cell
            and each.source == leader.alias
            and self.joined(leader.member, each.member)
        ]

    def write(self) -> list[str]:
        """Have every tablet that thinks it leads write once; returns the shards in which two were acknowledged."""
        served: dict[ShardId, list[str]] = {}
        for leader in [each for each in self.databases.values() if each.alive and each.leads]:
            if ackers := self.ackers(leader):
                leader.position += 1
                self.acknowledged += 1
                served.setdefault(leader.shard, []).append(leader.alias)
                for each in ackers:
                    each.position = leader.position
        for each in self.databases.values():
            source = self.databases.get(each.source)
            if source is not None and each.alive and source.alive and self.joined(each.member, source.member):
                each.position = max(each.position, source.position)
        return [f"{shard}: {' and '.join(sorted(those))}" for shard, those in served.items() if len(those) > 1]


async def change_primary(net: Net, node: str, topology: Topology, shard: ShardId, expected: str, new: str) -> str:
    """Reparent as planned, from a node, under the shard's lock; returns why not, "" when it is done.

    Whoever dies in the middle leaves the old primary asleep; an orchestrator wakes it, since the record still names it.
    """
    directory = paths.shard_directory(shard.keyspace, shard.shard)
    async with await topology.lock(directory, "PlannedReparentShard", patience=5.0) as lock:
        record = (await topology.read(paths.shard(shard.keyspace, shard.shard))).value
        if str(record.primary or "") != expected:
            return f"the primary is {record.primary}, and not {expected}"
        old, heir = net.speaks(node, expected), net.speaks(node, new)
        if old is None or heir is None or not net.joined(old.member, heir.member):
            return f"{expected} or {new} does not answer"
        old.leads = False
        await net.runtime.sleep(0.5)
        if net.speaks(node, new) is None or net.speaks(node, expected) is None:
            return f"{new} went away"
        heir.position = max(heir.position, old.position)
        await lock.check()
        await _promote(net, node, topology, shard, heir)
        return ""


async def _promote(net: Net, node: str, topology: Topology, shard: ShardId, heir: Database) -> None:
    place, alias = paths.shard(shard.keyspace, shard.shard), TabletAlias.parse(heir.alias)

    def named(record: Shard) -> Shard:
        return Shard(alias, record.key_range, record.source_shards, True, record.primary_term_start_time)

    await topology.update(place, named)
    heir.leads, heir.source = True, ""
    for each in net.of(shard):
        if each is not heir and net.speaks(node, each.alias) is not None:
            each.leads, each.source = False, heir.alias


async def repair(net: Net, node: str, topology: Topology, shard: ShardId, silent_for: float) -> None:
    """What an orchestrator in a member does: replicas follow the record's primary, a dead one is replaced.

    A dead one is replaced only where everybody who could acknowledge its writes has been stopped first.
    """
    directory = paths.shard_directory(shard.keyspace, shard.shard)
    record = (await topology.read(paths.shard(shard.keyspace, shard.shard))).value
    primary = str(record.primary or "")
    leader = net.speaks(node, primary)
    astray = [each for each in net.of(shard) if _is_astray(net, node, each, primary)]
    if not primary or (leader is not None and leader.leads and not astray) or (leader is None and silent_for < 10.0):
        return
    async with await topology.lock(directory, "vtorc", patience=5.0) as lock:
        record = (await topology.read(paths.shard(shard.keyspace, shard.shard))).value
        if str(record.primary or "") != primary:
            return
        await lock.check()
        if leader is not None:
            leader.leads, leader.source = True, ""
            for each in astray:
                each.leads, each.source = False, primary
            return
        dead = net.databases.get(primary)
        others = [each for each in net.of(shard) if each.alias != primary and each.type == "replica" and each.alive]
        reached = [each for each in others if net.speaks(node, each.alias) is not None]
        unreached = [each for each in others if each not in reached]
        if not reached or any(dead is None or each.cell != dead.cell for each in unreached):
            return
        for each in reached:
            each.source, each.leads = "", False
        await _promote(net, node, topology, shard, max(reached, key=lambda each: (each.position, each.alias)))


def _is_astray(net: Net, node: str, each: Database, primary: str) -> bool:
    if each.alias == primary or net.speaks(node, each.alias) is None:
        return False
    return each.leads or each.source != primary
