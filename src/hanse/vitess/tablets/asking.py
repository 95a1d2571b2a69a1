"""What is asked of tablets before anything is decided; one that does not answer in two seconds says nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from hanse.api.vitess_records import tablet_manager as calls
from hanse.api.vitess_records.positions import Position
from hanse.api.vitess_records.topology import Tablet, TabletAlias
from hanse.vitess.tablets.calling import CallFailed, NotReplicating, TabletCaller

_STATUS_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a tablet is, and how many seconds behind its source; None where it does not say."""

    position: Position
    lag: float | None = None


class Questions:
    """Asks tablets how they fare."""

    def __init__(self, tablets: TabletCaller) -> None:
        self._tablets = tablets

    async def progress(self, tablets: Iterable[Tablet]) -> dict[TabletAlias, Progress]:
        """Return how far tablets are, primaries and replicas alike; those that do not answer are left out."""
        records = list(tablets)
        answers = await asyncio.gather(*map(self._progress, records))
        return {each.alias: answer for each, answer in zip(records, answers, strict=True) if each.alias and answer}

    async def positions(self, tablets: Iterable[Tablet]) -> dict[TabletAlias, Position]:
        """Return the positions alone."""
        return {alias: each.position for alias, each in (await self.progress(tablets)).items()}

    async def replicates(self, tablet: Tablet) -> bool:
        """Tell whether a tablet is somebody's replica; raises CallFailed."""
        try:
            await self._tablets.ask(tablet, calls.REPLICATION_STATUS, calls.Nothing(), _STATUS_SECONDS)
        except NotReplicating:
            return False
        return True

    async def has_database(self, tablet: Tablet) -> bool:
        """Tell whether the database of its keyspace is there; raises CallFailed."""
        question = calls.GetSchemaRequest(table_schema_only=True)
        answer = await self._tablets.ask(tablet, calls.GET_SCHEMA, question, _STATUS_SECONDS)
        return answer.schema_definition is not None and bool(answer.schema_definition.database_schema)

    async def rows(self, tablet: Tablet) -> int | None:
        """Return about how many rows a tablet holds, None where it does not say."""
        try:
            answer = await self._tablets.ask(tablet, calls.GET_SCHEMA, calls.GetSchemaRequest(), _STATUS_SECONDS)
        except CallFailed:
            return None
        schema = answer.schema_definition
        return sum(each.row_count for each in schema.table_definitions) if schema is not None else None

    async def _progress(self, tablet: Tablet) -> Progress | None:
        try:
            answer = await self._tablets.ask(tablet, calls.REPLICATION_STATUS, calls.Nothing(), _STATUS_SECONDS)
            status = answer.status
            if status is None:
                return None
            lag = None if status.replication_lag_unknown else float(status.replication_lag_seconds)
            return Progress(Position.parse(status.position), lag)
        except NotReplicating:
            return await self._primary_progress(tablet)
        except (CallFailed, ValueError):
            return None

    async def _primary_progress(self, tablet: Tablet) -> Progress | None:
        try:
            answer = await self._tablets.ask(tablet, calls.PRIMARY_POSITION, calls.Nothing(), _STATUS_SECONDS)
            return Progress(Position.parse(answer.position))
        except (CallFailed, ValueError):
            return None
