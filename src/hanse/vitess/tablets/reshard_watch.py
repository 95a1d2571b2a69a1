"""Reads how far a reshard is: the workflow from vtctld, rows from the primaries of its shards. Thin effects."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hanse.api.vitess_records.vtctld import ReplicationLocation, WorkflowMessage
from hanse.vitess.tablets.asking import Questions
from hanse.vitess.tablets.calling import CallFailed
from hanse.vitess.tablets.resharding import ReshardingReport, StreamState, Workflow, report_resharding
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology.picture import TopologyPicture


async def watch_resharding(
    keyspace: str, picture: TopologyPicture, vtctld: Vtctld, questions: Questions
) -> ReshardingReport:
    """Return what a VitessKeyspace tells of its reshard."""
    try:
        found = await vtctld.reshards(keyspace)
    except CallFailed:
        return report_resharding(None)
    return report_resharding([await _workflow(each, picture, questions) for each in found])


async def _workflow(message: WorkflowMessage, picture: TopologyPicture, questions: Questions) -> Workflow:
    source, target = message.source or ReplicationLocation(), message.target or ReplicationLocation()
    states = tuple(stream.state for each in message.shard_streams.values() for stream in each.streams)
    copying = StreamState.COPYING in states
    return Workflow(
        name=message.name,
        source_shards=source.shards,
        target_shards=target.shards,
        states=states,
        lag_seconds=message.max_v_replication_lag,
        source_rows=await _rows(source.keyspace, source.shards, picture, questions) if copying else None,
        target_rows=await _rows(target.keyspace, target.shards, picture, questions) if copying else None,
    )


async def _rows(keyspace: str, shards: Sequence[str], picture: TopologyPicture, questions: Questions) -> int | None:
    """Return about how many rows the primaries of shards hold together, None where one does not say."""
    primaries = [each.value.primary for name in shards if (each := picture.shards.get((keyspace, name))) is not None]
    tablets = picture.tablets_of(keyspace)
    records = [tablets[alias].value for alias in primaries if alias is not None and alias in tablets]
    if len(records) < len(shards):
        return None
    counts = await asyncio.gather(*map(questions.rows, records))
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
