"""Speaks with the tablets of a federated Vitess, and has its vtctld change primaries."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from hanse.api.vitess_records.topology import Tablet, TabletAlias
from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.reading import FEDERATION_FIELD, ShardId
from hanse.vitess.federated.reparenting import ReparentFailed, Replication
from hanse.vitess.federated.tokens import Reparent
from hanse.vitess.tablets.asking import Questions
from hanse.vitess.tablets.calling import CallFailed, TabletCaller
from hanse.vitess.tablets.promoting import Promotions
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.store import BadRecord, TopologyError


class SpokenTablets:
    """The tablets of one Vitess, found by their records."""

    def __init__(self, topology: Topology, caller: TabletCaller, vtctld: Vtctld) -> None:
        self._topology = topology
        self._questions = Questions(caller)
        self._promotions = Promotions(topology, vtctld)

    async def replication(self, aliases: Collection[str]) -> Mapping[str, Replication]:
        """Return how tablets replicate; those that have no record, or do not answer, are left out."""
        cells: dict[str, list[TabletAlias]] = {}
        for alias in map(TabletAlias.parse, sorted(aliases)):
            cells.setdefault(alias.cell, []).append(alias)
        found = await asyncio.gather(*(self._records(those) for those in cells.values()))
        answers = await self._questions.progress(record for records in found for record in records)
        return {str(alias): Replication(each.lag, each.position.count) for alias, each in answers.items()}

    async def _records(self, aliases: Sequence[TabletAlias]) -> list[Tablet]:
        """Return the records of tablets of one cell; one that does not answer is not asked for each of them."""
        records: list[Tablet] = []
        for alias in aliases:
            try:
                found = await self._topology.find(paths.tablet(alias))
            except BadRecord:
                continue
            except TopologyError:
                break
            if found is not None:
                records.append(found)
        return records

    async def reparent(self, shard: ShardId, change: Reparent) -> None:
        """Have vtctld change the primary of a shard."""
        new = TabletAlias.parse(change.new)
        expected = TabletAlias.parse(change.expected) if change.expected else None
        try:
            await self._promotions.reparent(shard.keyspace, shard.shard, new=new, expected=expected)
        except CallFailed as error:
            raise ReparentFailed(str(error)) from error


def vtctld_address(source: Obj) -> str:
    """Return where the control plane finds a vtctld of a federated VitessCluster, "" where nobody said."""
    return str(dig(source, "spec", FEDERATION_FIELD, "vtctldAddress", default=""))
