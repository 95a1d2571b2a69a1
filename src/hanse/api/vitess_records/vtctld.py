"""What is asked of vtctld: planned reparents, databases that others run, how far a reshard is, what is backed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated

from hanse.api.vitess_records.tablet_manager import Method, Nothing
from hanse.api.vitess_records.topology import TabletAlias

SERVICE = "vtctlservice.Vtctld"


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time."""

    seconds: Annotated[int, 1] = 0
    nanos: Annotated[int, 2] = 0
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class PlannedReparentShardRequest:
    """Who shall be primary; `expected_primary` is who it must be until then."""

    keyspace: Annotated[str, 1] = ""
    shard: Annotated[str, 2] = ""
    new_primary: Annotated[TabletAlias | None, 3] = None
    avoid_primary: Annotated[TabletAlias | None, 4] = None
    wait_replicas_timeout: Annotated[Duration | None, 5] = None
    tolerable_replication_lag: Annotated[Duration | None, 6] = None
    allow_cross_cell_promotion: Annotated[bool, 7] = False
    expected_primary: Annotated[TabletAlias | None, 8] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class PlannedReparentShardResponse:
    """Who is primary now."""

    keyspace: Annotated[str, 1] = ""
    shard: Annotated[str, 2] = ""
    promoted_primary: Annotated[TabletAlias | None, 3] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class TabletExternallyReparentedRequest:
    """Which tablet stands before a database that somebody else made the primary."""

    tablet: Annotated[TabletAlias | None, 1] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class GetWorkflowsRequest:
    """The workflows of a keyspace."""

    keyspace: Annotated[str, 1] = ""
    active_only: Annotated[bool, 2] = False
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class ReplicationLocation:
    """From where or to where a workflow copies."""

    keyspace: Annotated[str, 1] = ""
    shards: Annotated[tuple[str, ...], 2] = ()
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class Stream:
    """One copy of a workflow."""

    state: Annotated[str, 7] = ""
    message: Annotated[str, 11] = ""
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class ShardStream:
    """The copies that go to one shard."""

    streams: Annotated[tuple[Stream, ...], 1] = ()
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class WorkflowMessage:
    """A workflow."""

    name: Annotated[str, 1] = ""
    source: Annotated[ReplicationLocation | None, 2] = None
    target: Annotated[ReplicationLocation | None, 3] = None
    max_v_replication_lag: Annotated[int, 4] = 0
    shard_streams: Annotated[Mapping[str, ShardStream], 5] = field(default_factory=dict)
    workflow_type: Annotated[str, 6] = ""
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class GetWorkflowsResponse:
    """All of them."""

    workflows: Annotated[tuple[WorkflowMessage, ...], 1] = ()
    unknown: bytes = b""


class BackupStatus(IntEnum):
    """How a backup is; vtctld knows it of few kinds of storage, if of any."""

    UNKNOWN = 0
    INCOMPLETE = 1
    COMPLETE = 2
    INVALID = 3
    VALID = 4


@dataclass(frozen=True, slots=True)
class GetBackupsRequest:
    """The newest backups of a shard, at most `limit`; 0 is all."""

    keyspace: Annotated[str, 1] = ""
    shard: Annotated[str, 2] = ""
    limit: Annotated[int, 3] = 0
    detailed: Annotated[bool, 4] = False
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class BackupInfo:
    """A backup by its name, and what else is known of it."""

    name: Annotated[str, 1] = ""
    directory: Annotated[str, 2] = ""
    engine: Annotated[str, 7] = ""
    status: Annotated[BackupStatus, 8] = BackupStatus.UNKNOWN
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class GetBackupsResponse:
    """All of them, the oldest first."""

    backups: Annotated[tuple[BackupInfo, ...], 1] = ()
    unknown: bytes = b""


GET_BACKUPS = Method("GetBackups", GetBackupsRequest, GetBackupsResponse)
PLANNED_REPARENT_SHARD = Method("PlannedReparentShard", PlannedReparentShardRequest, PlannedReparentShardResponse)
TABLET_EXTERNALLY_REPARENTED = Method("TabletExternallyReparented", TabletExternallyReparentedRequest, Nothing)
GET_WORKFLOWS = Method("GetWorkflows", GetWorkflowsRequest, GetWorkflowsResponse)
