"""A simulated tablet: registers itself, follows the primary of its shard, and does what a tablet manager is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from hanse.api.vitess_records import tablet_manager as calls
from hanse.api.vitess_records.positions import Position
from hanse.api.vitess_records.replication import StopReplicationStatus
from hanse.api.vitess_records.topology import Tablet, TabletAlias, TabletType, Time
from hanse.api.vitess_records.wire import Message
from hanse.kube.runtime import Runtime
from hanse.simulator.tablets.mysql import SimulatedMySQL
from hanse.simulator.tablets.registry import Registry, RegistryOutOfReach

_LOOK_AGAIN_SECONDS = 0.1
_ROUND_SECONDS = 1.0
_NOT_REPLICA = f"{calls.NOT_REPLICATING} (errno 100) (sqlstate HY000)"
_ONLY_FETCHING = 1


class TabletRefuses(Exception):
    """What a tablet answers when it cannot do as it is asked."""


class SimulatedTablet:
    """One tablet with its MySQL."""

    def __init__(self, record: Tablet, mysql: SimulatedMySQL, registry: Registry, runtime: Runtime) -> None:
        self.record = record
        self.mysql = mysql
        self._registry = registry
        self._runtime = runtime
        self._answers: Mapping[str, Callable[[Any], Awaitable[Message]]] = {
            method.name: answer for method, answer in self._offered()
        }

    @property
    def alias(self) -> TabletAlias:
        """By what Vitess knows it."""
        return self.record.alias or TabletAlias()

    async def start(self) -> None:
        """Register, as a new tablet or one that comes back: as the primary only if its shard still says so."""
        self.mysql.up = True
        shard = await self._registry.shard(self.record.keyspace, self.record.shard)
        primary = shard.primary if shard is not None else None
        started = Time.of(self._runtime.now())
        if shard is not None and primary == self.alias:
            term = shard.primary_term_start_time
            self._become(TabletType.PRIMARY, term)
            self.mysql.read_only = False
        elif self.record.type == TabletType.PRIMARY:
            self._become(TabletType.REPLICA)
        self.record = replace(self.record, tablet_start_time=started)
        await self._registry.publish(self.record)
        if primary is not None and primary != self.alias:
            await self._follow(primary)

    async def live(self) -> None:
        """Keep in step with topology until cancelled; what is out of reach is tried again."""
        while True:
            await self._runtime.sleep(_ROUND_SECONDS)
            self.mysql.fetch()
            try:
                await self.look()
            except RegistryOutOfReach:
                continue

    async def look(self) -> None:
        """As a primary, tell the shard so, and step down where another's term began later."""
        if self.record.type != TabletType.PRIMARY:
            return
        shard = await self._registry.claim(self.record)
        if shard.primary is not None and shard.primary != self.alias:
            self.mysql.read_only = True
            self._become(TabletType.REPLICA)
            await self._registry.publish(self.record)
            await self._follow(shard.primary)

    async def answer(self, method: str, question: Message) -> Message:
        """Do what is asked; raises TabletRefuses."""
        found = self._answers.get(method)
        if found is None:
            raise TabletRefuses(f"a simulated tablet does not know {method}")
        return await found(question)

    def _offered(self) -> list[tuple[calls.Method[Any, Any], Callable[[Any], Awaitable[Message]]]]:
        return [
            (calls.PING, self._ping),
            (calls.REPLICATION_STATUS, self._replication_status),
            (calls.PRIMARY_STATUS, self._primary_status),
            (calls.PRIMARY_POSITION, self._primary_position),
            (calls.FULL_STATUS, self._full_status),
            (calls.WAIT_FOR_POSITION, self._wait_for_position),
            (calls.PROMOTE_REPLICA, self._promote),
            (calls.INIT_PRIMARY, self._initialise),
            (calls.DEMOTE_PRIMARY, self._demote),
            (calls.UNDO_DEMOTE_PRIMARY, self._undo_demote),
            (calls.SET_REPLICATION_SOURCE, self._set_source),
            (calls.START_REPLICATION, self._start_replication),
            (calls.STOP_REPLICATION, self._stop_replication),
            (calls.STOP_REPLICATION_AND_GET_STATUS, self._stop_and_tell),
            (calls.RESET_REPLICATION_PARAMETERS, self._forget_source),
            (calls.POPULATE_REPARENT_JOURNAL, self._write_journal),
            (calls.READ_REPARENT_JOURNAL_INFO, self._read_journal),
            (calls.SET_READ_ONLY, self._set_read_only),
            (calls.SET_READ_WRITE, self._set_read_write),
            (calls.CHANGE_TYPE, self._change_type),
            (calls.REFRESH_STATE, self._nothing),
            (calls.RUN_HEALTH_CHECK, self._nothing),
            (calls.GET_GLOBAL_STATUS_VARS, self._counters),
            (calls.EXECUTE_FETCH_AS_DBA, self._nothing),
            (calls.READ_VREPLICATION_WORKFLOWS, self._nothing),
            (calls.GET_SCHEMA, self._schema),
        ]

    async def _ping(self, question: calls.PositionMessage) -> calls.PositionMessage:
        return question

    async def _nothing(self, _: Message) -> calls.Nothing:
        return calls.Nothing()

    async def _replication_status(self, _: calls.Nothing) -> calls.ReplicationStatusResponse:
        status = self.mysql.status()
        if status is None:
            raise TabletRefuses(_NOT_REPLICA)
        return calls.ReplicationStatusResponse(status)

    async def _primary_status(self, _: calls.Nothing) -> calls.PrimaryStatusResponse:
        return calls.PrimaryStatusResponse(self.mysql.primary_status())

    async def _primary_position(self, _: calls.Nothing) -> calls.PositionMessage:
        return calls.PositionMessage(str(self.mysql.executed))

    async def _full_status(self, _: calls.Nothing) -> calls.FullStatusResponse:
        return calls.FullStatusResponse(self.mysql.full_status(self.record.type))

    async def _wait_for_position(self, question: calls.PositionMessage) -> calls.Nothing:
        position = Position.parse(question.position)
        await self._until(lambda: self.mysql.has(position))
        return calls.Nothing()

    async def _promote(self, question: calls.SemiSyncRequest) -> calls.PositionMessage:
        self.mysql.forget_source()
        await self._begin_term(question.semi_sync)
        return calls.PositionMessage(str(self.mysql.executed))

    async def _initialise(self, question: calls.SemiSyncRequest) -> calls.PositionMessage:
        self.mysql.forget_source()
        self.mysql.read_only, self.mysql.waits = False, False
        self.mysql.write(database=self.record.db_name_override or f"vt_{self.record.keyspace}")
        await self._begin_term(question.semi_sync)
        return calls.PositionMessage(str(self.mysql.executed))

    async def _demote(self, _: calls.DemotePrimaryRequest) -> calls.DemotePrimaryResponse:
        self.mysql.read_only = True
        return calls.DemotePrimaryResponse(self.mysql.primary_status())

    async def _undo_demote(self, question: calls.SemiSyncRequest) -> calls.Nothing:
        self.mysql.read_only, self.mysql.waits = False, question.semi_sync
        return calls.Nothing()

    async def _set_source(self, question: calls.SetReplicationSourceRequest) -> calls.Nothing:
        if question.parent is None:
            raise TabletRefuses("SetReplicationSource names no parent")
        was_primary = self.record.type == TabletType.PRIMARY
        if was_primary:
            self.mysql.read_only = True
            self._become(TabletType.REPLICA)
            await self._registry.publish(self.record)
        # One whose replication somebody stopped stays stopped; one that never replicated begins.
        starts = was_primary or question.force_start_replication or self.mysql.source is None or self.mysql.applying
        self.mysql.acknowledges = question.semi_sync
        await self._follow(question.parent, starts=starts)
        if question.wait_position:
            position = Position.parse(question.wait_position)
            await self._until(lambda: self.mysql.has(position))
        if question.time_created_ns and starts:
            await self._until(lambda: self._has_line(question.time_created_ns))
        return calls.Nothing()

    async def _start_replication(self, question: calls.SemiSyncRequest) -> calls.Nothing:
        if self.mysql.source is None:
            raise TabletRefuses(_NOT_REPLICA)
        self.mysql.acknowledges = question.semi_sync
        self.mysql.follow(self.mysql.source)
        return calls.Nothing()

    async def _stop_replication(self, _: calls.Nothing) -> calls.Nothing:
        self.mysql.stop()
        return calls.Nothing()

    async def _stop_and_tell(
        self, question: calls.StopReplicationAndGetStatusRequest
    ) -> calls.StopReplicationAndGetStatusResponse:
        before = self.mysql.status()
        if before is None:
            raise TabletRefuses(f"before status failed: {_NOT_REPLICA}")
        self.mysql.stop(only_fetching=question.stop_replication_mode == _ONLY_FETCHING)
        return calls.StopReplicationAndGetStatusResponse(StopReplicationStatus(before, self.mysql.status()))

    async def _forget_source(self, _: calls.Nothing) -> calls.Nothing:
        self.mysql.forget_source()
        return calls.Nothing()

    async def _write_journal(self, question: calls.PopulateReparentJournalRequest) -> calls.Nothing:
        """Write a line that proves to replicas whom they follow; counts once somebody has acknowledged it."""
        if self.mysql.read_only:
            raise TabletRefuses("The MySQL server is running with the --super-read-only option (errno 1290)")
        self.mysql.write(journal=question.time_created_ns)
        await self._until(self.mysql.acknowledged)
        return calls.Nothing()

    async def _read_journal(self, _: calls.Nothing) -> calls.ReadReparentJournalInfoResponse:
        return calls.ReadReparentJournalInfoResponse(len(self.mysql.journal))

    async def _set_read_only(self, _: calls.Nothing) -> calls.Nothing:
        self.mysql.read_only = True
        return calls.Nothing()

    async def _set_read_write(self, _: calls.Nothing) -> calls.Nothing:
        self.mysql.read_only = False
        return calls.Nothing()

    async def _change_type(self, question: calls.ChangeTypeRequest) -> calls.Nothing:
        if question.tablet_type == TabletType.PRIMARY:
            await self._begin_term(question.semi_sync)
            return calls.Nothing()
        self._become(question.tablet_type)
        self.mysql.acknowledges = question.semi_sync
        await self._registry.publish(self.record)
        return calls.Nothing()

    async def _counters(self, question: calls.GetGlobalStatusVarsRequest) -> calls.GetGlobalStatusVarsResponse:
        return calls.GetGlobalStatusVarsResponse(dict.fromkeys(question.variables, "0"))

    async def _schema(self, _: calls.GetSchemaRequest) -> calls.GetSchemaResponse:
        name = self.record.db_name_override or f"vt_{self.record.keyspace}"
        present = name in self.mysql.databases
        return calls.GetSchemaResponse(calls.SchemaDefinition(f"CREATE DATABASE `{name}`" if present else ""))

    async def _begin_term(self, semi_sync: bool) -> None:
        self.mysql.waits, self.mysql.acknowledges = semi_sync, False
        self.mysql.read_only = False
        self._become(TabletType.PRIMARY, Time.of(self._runtime.now()))
        await self._registry.publish(self.record)
        await self._registry.claim(self.record)

    async def _follow(self, parent: TabletAlias, *, starts: bool = True) -> None:
        source = await self._registry.tablet(parent)
        if source is None:
            raise TabletRefuses(f"tablet {parent} is not in topology")
        self.mysql.source = (source.mysql_hostname, source.mysql_port)
        if starts:
            self.mysql.follow(self.mysql.source)

    def _become(self, kind: TabletType, term: Time | None = None) -> None:
        self.record = replace(self.record, type=kind, primary_term_start_time=term)

    def _has_line(self, line: int) -> bool:
        self.mysql.fetch()
        return line in self.mysql.journal

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait for something; who asked sets the limit, by not waiting any longer."""
        while not holds():
            await self._runtime.sleep(_LOOK_AGAIN_SECONDS)
