"""How a tablet registers itself: its shard if it is the first, its record, and who is primary, as vttablet does it."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from hanse.api.vitess_records.topology import (
    KeyRange,
    Keyspace,
    Shard,
    ShardReplication,
    ShardReplicationNode,
    Tablet,
    TabletAlias,
    Time,
)
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.paths import GLOBAL
from hanse.vitess.topology.store import NodeExists, TopologyError

T = TypeVar("T")


class TopologyRegistry:
    """Topology, as a tablet sees it; `unreachable` is what is raised when it cannot be reached."""

    def __init__(self, topology: Topology, unreachable: type[Exception] = TopologyError) -> None:
        self._topology = topology
        self._unreachable = unreachable

    async def publish(self, tablet: Tablet) -> None:
        """Write a tablet's record, its shard's if there is none, and list it among the tablets of its cell."""
        await self._reach(self._publish(tablet))

    async def tablet(self, alias: TabletAlias) -> Tablet | None:
        """Return the record of a tablet."""
        return await self._reach(self._topology.find(paths.tablet(alias)))

    async def shard(self, keyspace: str, shard: str) -> Shard | None:
        """Return the record of a shard."""
        return await self._reach(self._topology.find(paths.shard(keyspace, shard)))

    async def claim(self, tablet: Tablet) -> Shard:
        """Make a tablet the primary of its shard unless another's term began later."""
        return await self._reach(self._claim(tablet))

    async def _publish(self, tablet: Tablet) -> None:
        alias = tablet.alias or TabletAlias()
        await ensure_shard(self._topology, tablet.keyspace, tablet.shard)
        shard = await self._topology.find(paths.shard(tablet.keyspace, tablet.shard)) or Shard()
        record = replace(tablet, key_range=shard.key_range)
        await self._topology.ensure(paths.tablet(alias), record, lambda found: replace(record, unknown=found.unknown))
        listing = paths.shard_replication(alias.cell, tablet.keyspace, tablet.shard)
        await self._topology.ensure(listing, ShardReplication(), lambda found: _with(found, alias))

    async def _claim(self, tablet: Tablet) -> Shard:
        result = Shard()

        def claimed(shard: Shard) -> Shard:
            nonlocal result
            result = shard
            if _seconds(tablet.primary_term_start_time) > _seconds(shard.primary_term_start_time):
                term = tablet.primary_term_start_time
                result = replace(shard, primary_alias=tablet.alias, primary_term_start_time=term)
            return result

        await self._topology.update(paths.shard(tablet.keyspace, tablet.shard), claimed)
        return result

    async def _reach(self, call: Awaitable[T]) -> T:
        try:
            return await call
        except TopologyError as error:
            raise self._unreachable(str(error)) from error


async def ensure_shard(topology: Topology, keyspace: str, shard: str) -> None:
    """Make a shard known, under its keyspace's lock; it serves only if its range overlaps none that is there."""
    await topology.ensure(paths.keyspace(keyspace), Keyspace())
    if await topology.find(paths.shard(keyspace, shard)) is not None:
        return
    async with await topology.lock(paths.keyspace_directory(keyspace), f"CreateShard {shard}") as lock:
        mine = KeyRange.of_shard(shard)
        serves = True
        for name in await topology.names(GLOBAL, f"{paths.keyspace_directory(keyspace)}/shards"):
            other = KeyRange.of_shard(name)
            serves = serves and mine is not None and other is not None and not mine.overlaps(other)
        await lock.check()
        try:
            await topology.create(paths.shard(keyspace, shard), Shard(key_range=mine, is_primary_serving=serves))
        except NodeExists:
            return


def _with(record: ShardReplication, alias: TabletAlias) -> ShardReplication:
    if alias in record.aliases:
        return record
    return replace(record, nodes=(*record.nodes, ShardReplicationNode(alias)))


def _seconds(time: Time | None) -> float:
    return time.timestamp if time is not None else 0.0
