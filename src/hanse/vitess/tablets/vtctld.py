"""What vtctld is asked to do.

A planned reparent is done by vtctld, and not by Hanse itself: it is the program of the very version that the tablets
run, knows every durability policy, undoes what it cannot finish, and holds the shard's lock, for which Hanse's own
writes wait like everybody else's.
"""

from __future__ import annotations

from hanse.api.vitess_records.topology import TabletAlias
from hanse.api.vitess_records.vtctld import (
    GET_BACKUPS,
    GET_WORKFLOWS,
    PLANNED_REPARENT_SHARD,
    TABLET_EXTERNALLY_REPARENTED,
    BackupInfo,
    Duration,
    GetBackupsRequest,
    GetWorkflowsRequest,
    PlannedReparentShardRequest,
    TabletExternallyReparentedRequest,
    WorkflowMessage,
)
from hanse.vitess.tablets.calling import VtctldCaller

# How long replicas may take to follow the new primary, and how far behind it may be before.
_WAIT_REPLICAS_SECONDS = 30
_TOLERABLE_LAG_SECONDS = 15
# Waiting for the lock, for the replicas before and after, and some more: longer than all that vtctld waits for.
_REPARENT_SECONDS = 120.0
_READ_SECONDS = 10.0
# Object stores are far away, and give what they hold page by page.
_LIST_SECONDS = 60.0


class Vtctld:
    """The vtctld at one address."""

    def __init__(self, caller: VtctldCaller, address: str) -> None:
        self._caller = caller
        self._address = address

    async def planned_reparent(
        self, keyspace: str, shard: str, *, new: TabletAlias, expected: TabletAlias | None
    ) -> None:
        """Make a tablet the primary of a shard, only if `expected` still is; None for the first. Raises CallFailed."""
        question = PlannedReparentShardRequest(
            keyspace=keyspace,
            shard=shard,
            new_primary=new,
            wait_replicas_timeout=Duration(_WAIT_REPLICAS_SECONDS),
            tolerable_replication_lag=Duration(_TOLERABLE_LAG_SECONDS) if expected is not None else None,
            expected_primary=expected,
        )
        await self._caller.ask_vtctld(self._address, PLANNED_REPARENT_SHARD, question, _REPARENT_SECONDS)

    async def externally_reparented(self, tablet: TabletAlias) -> None:
        """Tell that the database behind a tablet is the primary. Raises CallFailed."""
        question = TabletExternallyReparentedRequest(tablet)
        await self._caller.ask_vtctld(self._address, TABLET_EXTERNALLY_REPARENTED, question, _READ_SECONDS)

    async def reshards(self, keyspace: str) -> list[WorkflowMessage]:
        """Return the reshards of a keyspace that are under way. Raises CallFailed."""
        question = GetWorkflowsRequest(keyspace, active_only=True)
        answer = await self._caller.ask_vtctld(self._address, GET_WORKFLOWS, question, _READ_SECONDS)
        return [each for each in answer.workflows if each.workflow_type == "Reshard"]

    async def backups(self, keyspace: str, shard: str, most: int) -> tuple[BackupInfo, ...]:
        """Return the newest backups of a shard in the place that this vtctld was given. Raises CallFailed."""
        question = GetBackupsRequest(keyspace, shard, limit=most, detailed=True)
        return (await self._caller.ask_vtctld(self._address, GET_BACKUPS, question, _LIST_SECONDS)).backups
