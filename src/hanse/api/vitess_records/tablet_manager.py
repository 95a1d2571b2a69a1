"""The calls of Vitess' tablet manager that repair, reparent and watch a shard: names, questions and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

from hanse.api.vitess_records.replication import FullStatus, PrimaryStatus, ReplicationStatus, StopReplicationStatus
from hanse.api.vitess_records.topology import TabletAlias, TabletType
from hanse.api.vitess_records.wire import Message

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)

SERVICE = "tabletmanagerservice.TabletManager"
NOT_REPLICATING = "no replication status"
"""What MySQL says, through Vitess, when it is asked for the replication that it does not do."""


@dataclass(frozen=True, slots=True)
class Method(Generic[Q, A]):
    """One call: what is asked, what is answered."""

    name: str
    question: type[Q]
    answer: type[A]


@dataclass(frozen=True, slots=True)
class Nothing:
    """A question or an answer in which nothing is said."""

    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class SemiSyncRequest:
    """Whether semi-synchronous replication is to be used."""

    semi_sync: Annotated[bool, 1] = False
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class PositionMessage:
    """A position, asked for or answered."""

    position: Annotated[str, 1] = ""
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class ReplicationStatusResponse:
    """How a replica fares."""

    status: Annotated[ReplicationStatus | None, 1] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class PrimaryStatusResponse:
    """How far a primary is."""

    status: Annotated[PrimaryStatus | None, 1] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class FullStatusResponse:
    """All of it."""

    status: Annotated[FullStatus | None, 1] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class SetReplicationSourceRequest:
    """From whom to replicate, and what to wait for."""

    parent: Annotated[TabletAlias | None, 1] = None
    time_created_ns: Annotated[int, 2] = 0
    force_start_replication: Annotated[bool, 3] = False
    wait_position: Annotated[str, 4] = ""
    semi_sync: Annotated[bool, 5] = False
    heartbeat_interval: Annotated[float, 6] = 0.0
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class DemotePrimaryRequest:
    """Whether to go on although clients still write."""

    force: Annotated[bool, 1] = False
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class DemotePrimaryResponse:
    """Where the primary stood when it stopped."""

    primary_status: Annotated[PrimaryStatus | None, 2] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class StopReplicationAndGetStatusRequest:
    """1 stops only the thread that fetches."""

    stop_replication_mode: Annotated[int, 1] = 0
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class StopReplicationAndGetStatusResponse:
    """Before and after."""

    status: Annotated[StopReplicationStatus | None, 2] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class PopulateReparentJournalRequest:
    """One line of the journal that proves to whom replicas are attached."""

    time_created_ns: Annotated[int, 1] = 0
    action_name: Annotated[str, 2] = ""
    primary_alias: Annotated[TabletAlias | None, 3] = None
    replication_position: Annotated[str, 4] = ""
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class ReadReparentJournalInfoResponse:
    """How many lines the journal has."""

    length: Annotated[int, 1] = 0
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class ChangeTypeRequest:
    """As what a tablet shall serve."""

    tablet_type: Annotated[TabletType, 1] = TabletType.UNKNOWN
    semi_sync: Annotated[bool, 2] = False
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class GetGlobalStatusVarsRequest:
    """Which of MySQL's counters to read."""

    variables: Annotated[tuple[str, ...], 1] = ()
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class GetGlobalStatusVarsResponse:
    """The counters."""

    status_values: Annotated[Mapping[str, str], 1] = field(default_factory=dict)
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class ExecuteFetchAsDbaRequest:
    """A statement to run with all rights."""

    query: Annotated[bytes, 1] = b""
    db_name: Annotated[str, 2] = ""
    max_rows: Annotated[int, 3] = 0
    disable_binlogs: Annotated[bool, 4] = False
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table, and about how many rows it has."""

    name: Annotated[str, 1] = ""
    row_count: Annotated[int, 7] = 0
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class SchemaDefinition:
    """A database, "" where there is none yet, and its tables."""

    database_schema: Annotated[str, 1] = ""
    table_definitions: Annotated[tuple[TableDefinition, ...], 2] = ()
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class GetSchemaRequest:
    """Which tables are asked for."""

    tables: Annotated[tuple[str, ...], 1] = ()
    include_views: Annotated[bool, 2] = False
    exclude_tables: Annotated[tuple[str, ...], 3] = ()
    table_schema_only: Annotated[bool, 4] = False
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class GetSchemaResponse:
    """The database of a tablet."""

    schema_definition: Annotated[SchemaDefinition | None, 1] = None
    unknown: bytes = b""


PING = Method("Ping", PositionMessage, PositionMessage)
REPLICATION_STATUS = Method("ReplicationStatus", Nothing, ReplicationStatusResponse)
PRIMARY_STATUS = Method("PrimaryStatus", Nothing, PrimaryStatusResponse)
PRIMARY_POSITION = Method("PrimaryPosition", Nothing, PositionMessage)
FULL_STATUS = Method("FullStatus", Nothing, FullStatusResponse)
WAIT_FOR_POSITION = Method("WaitForPosition", PositionMessage, Nothing)
PROMOTE_REPLICA = Method("PromoteReplica", SemiSyncRequest, PositionMessage)
INIT_PRIMARY = Method("InitPrimary", SemiSyncRequest, PositionMessage)
DEMOTE_PRIMARY = Method("DemotePrimary", DemotePrimaryRequest, DemotePrimaryResponse)
UNDO_DEMOTE_PRIMARY = Method("UndoDemotePrimary", SemiSyncRequest, Nothing)
SET_REPLICATION_SOURCE = Method("SetReplicationSource", SetReplicationSourceRequest, Nothing)
START_REPLICATION = Method("StartReplication", SemiSyncRequest, Nothing)
STOP_REPLICATION = Method("StopReplication", Nothing, Nothing)
STOP_REPLICATION_AND_GET_STATUS = Method(
    "StopReplicationAndGetStatus", StopReplicationAndGetStatusRequest, StopReplicationAndGetStatusResponse
)
RESET_REPLICATION_PARAMETERS = Method("ResetReplicationParameters", Nothing, Nothing)
POPULATE_REPARENT_JOURNAL = Method("PopulateReparentJournal", PopulateReparentJournalRequest, Nothing)
READ_REPARENT_JOURNAL_INFO = Method("ReadReparentJournalInfo", Nothing, ReadReparentJournalInfoResponse)
SET_READ_ONLY = Method("SetReadOnly", Nothing, Nothing)
SET_READ_WRITE = Method("SetReadWrite", Nothing, Nothing)
CHANGE_TYPE = Method("ChangeType", ChangeTypeRequest, Nothing)
REFRESH_STATE = Method("RefreshState", Nothing, Nothing)
RUN_HEALTH_CHECK = Method("RunHealthCheck", Nothing, Nothing)
GET_GLOBAL_STATUS_VARS = Method("GetGlobalStatusVars", GetGlobalStatusVarsRequest, GetGlobalStatusVarsResponse)
EXECUTE_FETCH_AS_DBA = Method("ExecuteFetchAsDba", ExecuteFetchAsDbaRequest, Nothing)
READ_VREPLICATION_WORKFLOWS = Method("ReadVReplicationWorkflows", Nothing, Nothing)
GET_SCHEMA = Method("GetSchema", GetSchemaRequest, GetSchemaResponse)

METHODS: tuple[Method[Any, Any], ...] = tuple(each for each in list(globals().values()) if isinstance(each, Method))
"""All calls, for a server that offers them."""
