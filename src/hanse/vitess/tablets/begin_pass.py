"""Gives a shard its first primary, as was decided. Thin effects."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from hanse.api.vitess_records import tablet_manager as calls
from hanse.api.vitess_records.topology import Shard, Tablet, TabletAlias, TabletType, Time
from hanse.kube.runtime import Runtime
from hanse.vitess.tablets.asking import Questions
from hanse.vitess.tablets.beginning import (
    AdoptPrimary,
    Beginner,
    BeginningScene,
    DeclareExternal,
    Initialise,
    Promote,
    plan_beginning,
)
from hanse.vitess.tablets.calling import CallFailed, TabletCaller, Unanswered
from hanse.vitess.tablets.drain_pass import AGAIN_SECONDS, Outcome, ShardRef
from hanse.vitess.tablets.durability import acknowledges, waits_for_acknowledgement
from hanse.vitess.tablets.promoting import FirstPromotions, Promotions, PromotionUnderWay
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.picture import TopologyPicture, read_picture
from hanse.vitess.topology.steps import Told
from hanse.vitess.topology.store import BadVersion, TopologyError, Unreachable

_CHANGE_SECONDS = 15.0


class BeginPasses:
    """Looks after shards of one Vitess that have no primary yet."""

    def __init__(self, topology: Topology, tablets: TabletCaller, vtctld: Vtctld, runtime: Runtime) -> None:
        self._topology = topology
        self._tablets = tablets
        self._questions = Questions(tablets)
        self._vtctld = vtctld
        self._promotions = Promotions(topology, vtctld)
        self._asked_first = FirstPromotions(topology)
        self._runtime = runtime

    async def look(self, shard: ShardRef, scene: BeginningScene) -> Outcome:
        """Give a shard its first primary, where that is to be done here and can be."""
        if not scene.initialize or scene.has_primary:
            return Outcome()
        decision = plan_beginning(await self._asked(scene))
        if decision is None:
            return Outcome()
        if isinstance(decision, Told):
            return Outcome(told=(decision,), again=AGAIN_SECONDS)
        try:
            first = await self._begin(shard, decision)
        except PromotionUnderWay as error:
            return Outcome(told=(Told("InitShardWaiting", str(error), warning=False),), again=AGAIN_SECONDS)
        except (CallFailed, TopologyError) as error:
            told = Told("InitShardFailed", f"{decision.alias} did not become the first primary: {error}")
            return Outcome(told=(told,), again=AGAIN_SECONDS)
        reason = "TabletExternallyReparented" if isinstance(decision, DeclareExternal) else "InitShardPrimary"
        return Outcome(told=(Told(reason, f"{first} is the first primary", warning=False),))

    async def _asked(self, scene: BeginningScene) -> BeginningScene:
        """Return a scene with what the tablets say of themselves."""
        beginners = await asyncio.gather(*map(self._ask, scene.beginners))
        restored = [each.record for each in beginners if each.record is not None and each.has_database]
        return replace(scene, beginners=tuple(beginners), positions=await self._questions.positions(restored))

    async def _ask(self, beginner: Beginner) -> Beginner:
        if beginner.record is None or not beginner.running:
            return beginner
        try:
            replicates = await self._questions.replicates(beginner.record)
            present = await self._questions.has_database(beginner.record)
        except CallFailed:
            return beginner
        return replace(beginner, replicates=replicates, has_database=present)

    async def _begin(
        self, shard: ShardRef, decision: Initialise | Promote | AdoptPrimary | DeclareExternal
    ) -> TabletAlias:
        """Do what was decided; returns who became primary."""
        match decision:
            case Initialise(alias):
                await self._promotions.reparent(shard.keyspace, shard.shard, new=alias, expected=None)
            case DeclareExternal(alias):
                await self._vtctld.externally_reparented(alias)
            case AdoptPrimary(alias):
                await self._adopt(shard, alias)
            case Promote(alias, followers):
                return await self._promote(shard, alias, followers)
        return decision.alias

    async def _promote(self, shard: ShardRef, chosen: TabletAlias, followers: Collection[TabletAlias]) -> TabletAlias:
        """Promote a restored tablet under the shard's lock, and have the others follow as far as they answer."""
        directory = paths.shard_directory(shard.keyspace, shard.shard)
        async with await self._topology.lock(directory, "InitShardPrimary") as lock:
            picture = await self._certain(shard)
            tablets = {each: found.value for each, found in picture.tablets_of(shard.keyspace, shard.shard).items()}
            if chosen not in tablets or _primaries(tablets.values()):
                raise BadVersion("the tablets of the shard have changed meanwhile")
            alias = await self._begin_with(shard, chosen, tablets)
            keyspace = picture.keyspaces.get(shard.keyspace)
            policy = keyspace.value.durability_policy if keyspace is not None else ""
            await lock.check()
            await self._ask_to_begin(shard, tablets[alias], policy)
            await self._name(shard, alias)
            await self._asked_first.end(shard.keyspace, shard.shard)
            others = {*followers, chosen} - {alias}
            await asyncio.gather(
                *(self._follow(tablets[each], alias, policy) for each in sorted(others & set(tablets)))
            )
            return alias

    async def _begin_with(
        self, shard: ShardRef, chosen: TabletAlias, tablets: Mapping[TabletAlias, Tablet]
    ) -> TabletAlias:
        """Return who is promoted: one that was asked before and did not answer may be primary without our knowledge."""
        alias = await self._asked_first.begin(shard.keyspace, shard.shard, chosen)
        if alias not in tablets:
            # It has left topology, and cannot come back as a primary.
            await self._asked_first.end(shard.keyspace, shard.shard)
            alias = await self._asked_first.begin(shard.keyspace, shard.shard, chosen)
        return alias

    async def _ask_to_begin(self, shard: ShardRef, tablet: Tablet, policy: str) -> None:
        question = calls.SemiSyncRequest(waits_for_acknowledgement(policy))
        try:
            await self._tablets.ask(tablet, calls.PROMOTE_REPLICA, question, _CHANGE_SECONDS)
        except Unanswered:
            raise
        except CallFailed:
            # It said no, so another one may be asked.
            await self._asked_first.end(shard.keyspace, shard.shard)
            raise

    async def _follow(self, tablet: Tablet, primary: TabletAlias, policy: str) -> None:
        """Have a tablet follow the primary; one that does not answer is left to vtorc."""
        question = calls.SetReplicationSourceRequest(
            parent=primary, force_start_replication=True, semi_sync=acknowledges(policy, primary, tablet)
        )
        try:
            await self._tablets.ask(tablet, calls.SET_REPLICATION_SOURCE, question, _CHANGE_SECONDS)
        except CallFailed:
            return

    async def _adopt(self, shard: ShardRef, alias: TabletAlias) -> None:
        directory = paths.shard_directory(shard.keyspace, shard.shard)
        async with await self._topology.lock(directory, "InitShardPrimary") as lock:
            picture = await self._certain(shard)
            found = [each.value for each in picture.tablets_of(shard.keyspace, shard.shard).values()]
            if _primaries(found) != [alias]:
                raise BadVersion("the tablets of the shard have changed meanwhile")
            await lock.check()
            await self._name(shard, alias)

    async def _certain(self, shard: ShardRef) -> TopologyPicture:
        """Read topology again, under the lock; raises where a primary is named or a cell may hide one."""
        picture = await read_picture(self._topology)
        if picture.silent:
            raise Unreachable(f"cell {min(picture.silent)} does not answer, and may have a primary of the shard")
        record = picture.shards[shard.keyspace, shard.shard].value
        if record.primary is not None:
            raise BadVersion(f"{record.primary} became the primary meanwhile")
        return picture

    async def _name(self, shard: ShardRef, alias: TabletAlias) -> None:
        """Name the primary in the shard's record, as its tablet does too; who is named already stays."""
        tablet = await self._topology.find(paths.tablet(alias))
        term = tablet.primary_term_start_time if tablet is not None else None
        began = term or Time.of(self._runtime.now())

        def named(record: Shard) -> Shard:
            if record.primary is not None:
                return record
            return replace(record, primary_alias=alias, primary_term_start_time=began)

        await self._topology.update(paths.shard(shard.keyspace, shard.shard), named)


def _primaries(tablets: Iterable[Tablet]) -> list[TabletAlias]:
    return sorted(each.alias for each in tablets if each.alias is not None and each.type == TabletType.PRIMARY)
