"""What is asked of vtctld: a planned reparent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hanse.api.vitess_records.tablet_manager import Method
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


PLANNED_REPARENT_SHARD = Method("PlannedReparentShard", PlannedReparentShardRequest, PlannedReparentShardResponse)
