"""One look at the drains of a shard: what was decided is done, step by step. Thin effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hanse.api.vitess_records import tablet_manager as calls
from hanse.api.vitess_records.topology import TabletAlias, TabletType
from hanse.vitess.tablets.asking import Questions
from hanse.vitess.tablets.calling import CallFailed, TabletCaller
from hanse.vitess.tablets.candidates import TabletPod, candidates, most_advanced
from hanse.vitess.tablets.draining import DrainPass, DrainState, DrainTablet, plan_drains
from hanse.vitess.tablets.promoting import Promotions, PromotionUnderWay
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.picture import TopologyPicture
from hanse.vitess.topology.steps import Told
from hanse.vitess.topology.store import TopologyError

_CHANGE_SECONDS = 15.0
AGAIN_SECONDS = 5.0
_SLOW_SHUTDOWN = b"set @@global.innodb_fast_shutdown = 0"


class Turns(Protocol):
    """Whose drain it is where the tablets of one shard are in several clusters."""

    async def take(self, alias: TabletAlias) -> bool:
        """Take the turn for a tablet unless another has it; says whether it is its own. Raises TopologyError."""


@dataclass(frozen=True, slots=True)
class ShardRef:
    """A shard, and the cells of this VitessCluster."""

    keyspace: str
    shard: str
    own_cells: frozenset[str]
    external: bool = False
    """Whether its databases are run by somebody else."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a look led to: new states of drains, to be written on Pods, what is told, and when to look again."""

    states: Mapping[TabletAlias, DrainState] = field(default_factory=dict)
    told: tuple[Told, ...] = ()
    again: float | None = None


class DrainPasses:
    """Looks after the drains of shards of one Vitess."""

    def __init__(self, topology: Topology, tablets: TabletCaller, vtctld: Vtctld) -> None:
        self._tablets = tablets
        self._questions = Questions(tablets)
        self._vtctld = vtctld
        self._promotions = Promotions(topology, vtctld)

    async def look(
        self,
        shard: ShardRef,
        picture: TopologyPicture,
        tablets: Sequence[DrainTablet],
        pods: Mapping[TabletAlias, TabletPod],
        turns: Turns | None = None,
    ) -> Outcome:
        """Go on with the drains of a shard by one step."""
        record = picture.shards.get((shard.keyspace, shard.shard))
        primary = record.value.primary if record is not None else None
        planned = plan_drains(tablets, primary)
        if waits := await self._await_turn(planned, primary, turns):
            return Outcome(told=(waits,), again=AGAIN_SECONDS)
        for alias in planned.slow_shutdown:
            if failed := await self._stop_slowly(picture, alias):
                return Outcome(told=(*planned.told, failed), again=AGAIN_SECONDS)
        if not planned.replace_primary or primary is None:
            return Outcome(planned.states, planned.told)
        told, again = await self._replace(shard, picture, primary, pods)
        return Outcome(planned.states, (*planned.told, told), again)

    async def _await_turn(self, planned: DrainPass, primary: TabletAlias | None, turns: Turns | None) -> Told | None:
        finishing = [alias for alias, state in planned.states.items() if state is DrainState.FINISHED]
        due = finishing[0] if finishing else primary if planned.replace_primary else None
        try:
            if turns is None or due is None or await turns.take(due):
                return None
        except TopologyError as error:
            return Told("NotReconcilingDrain", f"whose turn it is to be drained is not known: {error}")
        return Told("DrainBlocked", f"{due} waits: another tablet of its shard is drained elsewhere", warning=False)

    async def _replace(
        self, shard: ShardRef, picture: TopologyPicture, primary: TabletAlias, pods: Mapping[TabletAlias, TabletPod]
    ) -> tuple[Told, float | None]:
        """Have another tablet of this cluster become primary."""
        records = [each.value for each in picture.tablets_of(shard.keyspace, shard.shard).values()]
        able = candidates(records, pods, primary, shard.own_cells)
        chosen = most_advanced(able, await self._questions.positions(able))
        if chosen is None or chosen.alias is None:
            message = f"{primary} is the primary and no other tablet of this cluster can take over; it is not drained"
            return Told("DrainBlocked", message), AGAIN_SECONDS
        try:
            if shard.external:
                await self._promotions.require_none(shard.keyspace, shard.shard, chosen.alias)
                await self._hand_over(picture, primary, chosen.alias)
            else:
                await self._promotions.reparent(shard.keyspace, shard.shard, new=chosen.alias, expected=primary)
        except PromotionUnderWay as error:
            return Told("NotReparentingPrimary", str(error)), AGAIN_SECONDS
        except CallFailed as error:
            message = f"{chosen.alias} did not take over from {primary}: {error}"
            return Told("PlannedReparentFailed", message), AGAIN_SECONDS
        return Told("PlannedReparent", f"{chosen.alias} took over from {primary}", warning=False), None

    async def _hand_over(self, picture: TopologyPicture, old: TabletAlias, new: TabletAlias) -> None:
        """Follow a change of primary that somebody else has made in his databases."""
        await self._vtctld.externally_reparented(new)
        record = picture.local[old.cell].tablets.get(old)
        if record is not None:
            spare = calls.ChangeTypeRequest(TabletType.SPARE)
            await self._tablets.ask(record.value, calls.CHANGE_TYPE, spare, _CHANGE_SECONDS)

    async def _stop_slowly(self, picture: TopologyPicture, alias: TabletAlias) -> Told | None:
        cell = picture.local.get(alias.cell)
        record = cell.tablets.get(alias) if cell is not None else None
        question = calls.ExecuteFetchAsDbaRequest(_SLOW_SHUTDOWN, "_vt", 1)
        try:
            if record is None:
                raise CallFailed("it is not in topology")
            await self._tablets.ask(record.value, calls.EXECUTE_FETCH_AS_DBA, question, _CHANGE_SECONDS)
        except CallFailed as error:
            return Told("MysqldSafeUpgradeFailed", f"{alias} cannot be told to write everything out: {error}")
        return None
