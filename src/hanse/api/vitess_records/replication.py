"""What a tablet tells of its MySQL's replication."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

from hanse.api.vitess_records.topology import TabletType


class ThreadState(IntEnum):
    """How one of the two threads of a replica fares."""

    UNKNOWN = 0
    STOPPED = 1
    CONNECTING = 2
    RUNNING = 3


@dataclass(frozen=True, slots=True)
class ReplicationStatus:
    """How a replica fares."""

    position: Annotated[str, 1] = ""
    replication_lag_seconds: Annotated[int, 4] = 0
    source_host: Annotated[str, 5] = ""
    source_port: Annotated[int, 6] = 0
    relay_log_position: Annotated[str, 8] = ""
    source_server_id: Annotated[int, 11] = 0
    source_uuid: Annotated[str, 12] = ""
    io_state: Annotated[ThreadState, 13] = ThreadState.UNKNOWN
    last_io_error: Annotated[str, 14] = ""
    sql_state: Annotated[ThreadState, 15] = ThreadState.UNKNOWN
    last_sql_error: Annotated[str, 16] = ""
    source_user: Annotated[str, 18] = ""
    auto_position: Annotated[bool, 20] = False
    using_gtid: Annotated[bool, 21] = False
    replication_lag_unknown: Annotated[bool, 24] = False
    backup_running: Annotated[bool, 25] = False
    semi_sync_primary_enabled: Annotated[bool, 26] = False
    semi_sync_replica_enabled: Annotated[bool, 27] = False
    semi_sync_primary_status: Annotated[bool, 28] = False
    semi_sync_replica_status: Annotated[bool, 29] = False
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class ReplicationConfiguration:
    """How patient a replica is with its source."""

    heartbeat_interval: Annotated[float, 1] = 0.0
    replica_net_timeout: Annotated[int, 2] = 0
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class StopReplicationStatus:
    """How a replica fared before its replication was stopped, and after."""

    before: Annotated[ReplicationStatus | None, 1] = None
    after: Annotated[ReplicationStatus | None, 2] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class PrimaryStatus:
    """How far a primary is."""

    position: Annotated[str, 1] = ""
    file_position: Annotated[str, 2] = ""
    server_uuid: Annotated[str, 3] = ""
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class FullStatus:
    """All that vtorc asks of a tablet."""

    server_id: Annotated[int, 1] = 0
    server_uuid: Annotated[str, 2] = ""
    replication_status: Annotated[ReplicationStatus | None, 3] = None
    primary_status: Annotated[PrimaryStatus | None, 4] = None
    gtid_purged: Annotated[str, 5] = ""
    version: Annotated[str, 6] = ""
    version_comment: Annotated[str, 7] = ""
    read_only: Annotated[bool, 8] = False
    gtid_mode: Annotated[str, 9] = ""
    binlog_format: Annotated[str, 10] = ""
    binlog_row_image: Annotated[str, 11] = ""
    log_bin_enabled: Annotated[bool, 12] = False
    log_replica_updates: Annotated[bool, 13] = False
    semi_sync_primary_enabled: Annotated[bool, 14] = False
    semi_sync_replica_enabled: Annotated[bool, 15] = False
    semi_sync_primary_status: Annotated[bool, 16] = False
    semi_sync_replica_status: Annotated[bool, 17] = False
    semi_sync_primary_clients: Annotated[int, 18] = 0
    semi_sync_primary_timeout: Annotated[int, 19] = 0
    semi_sync_wait_for_replica_count: Annotated[int, 20] = 0
    super_read_only: Annotated[bool, 21] = False
    replication_configuration: Annotated[ReplicationConfiguration | None, 22] = None
    tablet_type: Annotated[TabletType, 25] = TabletType.UNKNOWN
    unknown: bytes = b""
