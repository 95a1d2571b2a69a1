"""Speaks with the tablets of a federated Vitess, and has its vtctld change primaries."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hanse.api.vitess_records.topology import TabletAlias
from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.reading import FEDERATION_FIELD, ShardId
from hanse.vitess.federated.reparenting import ReparentFailed, Replication
from hanse.vitess.federated.tokens import Reparent
from hanse.vitess.tablets.asking import Questions
from hanse.vitess.tablets.calling import CallFailed, TabletCaller
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.store import TopologyError


class SpokenTablets:
    """The tablets of one Vitess, found by their records."""

    def __init__(self, topology: Topology, caller: TabletCaller, vtctld: Vtctld) -> None:
        self._topology = topology
        self._questions = Questions(caller)
        self._vtctld = vtctld

    async def replication(self, aliases: Collection[str]) -> Mapping[str, Replication]:
        """Return how tablets replicate; those that have no record, or do not answer, are left out."""
        records = []
        for alias in sorted(aliases):
            try:
                found = await self._topology.find(paths.tablet(TabletAlias.parse(alias)))
            except TopologyError:
                continue
            if found is not None:
                records.append(found)
        answers = await self._questions.progress(records)
        return {str(alias): Replication(each.lag, each.position.count) for alias, each in answers.items()}

    async def reparent(self, shard: ShardId, change: Reparent) -> None:
        """Have vtctld change the primary of a shard."""
        new = TabletAlias.parse(change.new)
        expected = TabletAlias.parse(change.expected) if change.expected else None
        try:
            await self._vtctld.planned_reparent(shard.keyspace, shard.shard, new=new, expected=expected)
        except CallFailed as error:
            raise ReparentFailed(str(error)) from error


def vtctld_address(source: Obj) -> str:
    """Return where the control plane finds a vtctld of a federated VitessCluster, "" where nobody said."""
    return str(dig(source, "spec", FEDERATION_FIELD, "vtctldAddress", default=""))
