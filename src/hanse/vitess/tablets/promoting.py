"""Promotions that do not overtake each other: before another one is asked for, topology says whether one is under way.

A promotion whose answer is lost may still be going on, or be done and not be known yet. Who is asked then is asked
again, and nobody else, until topology says how it ended.
"""

from __future__ import annotations

from collections.abc import Iterable

from hanse.api.vitess_records.topology import Shard, Tablet, TabletAlias, TabletType
from hanse.vitess.tablets.calling import CallFailed
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.paths import GLOBAL, LOCKS
from hanse.vitess.topology.picture import read_picture
from hanse.vitess.topology.store import NodeExists, NoNode, TopologyError


class PromotionUnderWay(CallFailed):
    """Another promotion may be going on, so none was asked for; in one sentence."""


def later_primary(shard: Shard, tablets: Iterable[Tablet]) -> TabletAlias | None:
    """Return the tablet that says it became primary after the one that the shard's record names; None if none does."""
    began = shard.primary_term_start_time
    latest, found = began.timestamp if began is not None else 0.0, None
    for tablet in tablets:
        term = tablet.primary_term_start_time
        claims = tablet.type == TabletType.PRIMARY and tablet.alias != shard.primary
        if claims and term is not None and term.timestamp > latest:
            latest, found = term.timestamp, tablet.alias
    return found


class Promotions:
    """Asks vtctld for planned reparents of one Vitess."""

    def __init__(self, topology: Topology, vtctld: Vtctld) -> None:
        self._topology = topology
        self._vtctld = vtctld

    async def reparent(self, keyspace: str, shard: str, *, new: TabletAlias, expected: TabletAlias | None) -> None:
        """Make a tablet the primary, only if `expected` still is; raises CallFailed, of it PromotionUnderWay."""
        await self.require_none(keyspace, shard, new)
        await self._vtctld.planned_reparent(keyspace, shard, new=new, expected=expected)

    async def require_none(self, keyspace: str, shard: str, new: TabletAlias) -> None:
        """See that nobody but `new` is about to become primary; raises CallFailed."""
        directory = paths.shard_directory(keyspace, shard)
        try:
            if await self._topology.names(GLOBAL, f"{directory}/{LOCKS}"):
                raise PromotionUnderWay(f"{keyspace}/{shard} is locked: its primary may be changed just now")
            # Cells that do not answer are left to vtctld, which knows whether it can do without them.
            picture = await read_picture(self._topology)
        except TopologyError as error:
            raise CallFailed(f"whether {keyspace}/{shard} has another primary by now is not known: {error}") from error
        record = picture.shards.get((keyspace, shard))
        tablets = [each.value for each in picture.tablets_of(keyspace, shard).values()]
        later = later_primary(record.value, tablets) if record is not None else None
        if later is not None and later != new:
            raise PromotionUnderWay(
                f"{later} says that it became primary of {keyspace}/{shard} later than the one that the shard's "
                "record names; as soon as the record names it, or vtorc has settled it, this goes on"
            )


class FirstPromotions:
    """Who was asked to become the first primary of a shard, as long as it is not known what came of it."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology

    async def begin(self, keyspace: str, shard: str, alias: TabletAlias) -> TabletAlias:
        """Return who is to be asked: whoever was asked before and has not answered, else this one, which is noted."""
        store = await self._topology.store(GLOBAL)
        path = paths.promotion(keyspace, shard)
        try:
            await store.create(path, str(alias).encode())
        except NodeExists:
            return TabletAlias.parse((await store.read(path)).value.decode())
        return alias

    async def end(self, keyspace: str, shard: str) -> None:
        """Forget who was asked: it is known what came of it."""
        try:
            await (await self._topology.store(GLOBAL)).delete(paths.promotion(keyspace, shard), None)
        except NoNode:
            return
