"""Topology as the federation's decisions see it, and those decisions as steps that prove themselves when done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import CellsAlias
from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.aliases import AliasChange
from hanse.vitess.federated.picture import Picture, ShardRecord, TabletRecord
from hanse.vitess.federated.pruning import Prune, RecordKind
from hanse.vitess.federated.quorum import Quorum
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.topology.picture import TopologyPicture
from hanse.vitess.topology.steps import DeleteCell, DeleteKeyspace, DeleteShard, Step, WriteAlias

_ETCD = "etcd2"


def lockserver_of(source: Obj, quorum: Quorum | None) -> LockserverParams | None:
    """Return where the records of a federated VitessCluster are; None where only a member could tell."""
    if quorum is not None:
        return LockserverParams(_ETCD, quorum.client_address, f"/vitess/{source['metadata']['name']}/global")
    external = dig(source, "spec", "globalLockserver", "external")
    if not isinstance(external, dict) or not external.get("address"):
        return None
    implementation = str(external.get("implementation") or _ETCD)
    return LockserverParams(implementation, str(external["address"]), str(external.get("rootPath") or ""))


def picture_of(read: TopologyPicture) -> Picture:
    """Return what was read, in the terms of decisions."""
    tablets = [tablet.value for cell in read.local.values() for tablet in cell.tablets.values()]
    return Picture(
        cells=frozenset(read.cells),
        aliases={name: record.cells for name, record in read.aliases.items()},
        keyspaces=read.keyspace_names(),
        shards={
            ShardId(*name): ShardRecord(str(found.value.primary or ""), found.value.is_primary_serving)
            for name, found in read.shards.items()
        },
        tablets={
            str(each.alias): TabletRecord(
                str(each.alias), each.alias.cell, ShardId(each.keyspace, each.shard), each.type.name
            )
            for each in tablets
            if each.alias is not None
        },
        serving={
            cell: {name: record.shards() for name, record in found.srv_keyspaces.items()}
            for cell, found in read.local.items()
            if found.srv_keyspaces
        },
        unread=frozenset(read.silent),
    )


def alias_steps(changes: Iterable[AliasChange]) -> list[Step]:
    """Return the writing of aliases; one that has lost its last cell is kept, empty, where others may watch it."""
    return [WriteAlias(change.name, CellsAlias(change.cells)) for change in changes]


def prune_steps(prunes: Sequence[Prune], read: TopologyPicture) -> list[Step]:
    """Return the removal of records, each with the versions that the decision was made on."""
    steps: list[Step] = []
    for prune in prunes:
        match prune.kind:
            case RecordKind.SHARD if prune.shard is not None:
                steps.append(_delete_shard(prune.shard, read))
            case RecordKind.KEYSPACE:
                shards = sorted(read.shard_names(prune.name))
                deletions = tuple(_delete_shard(ShardId(prune.name, shard), read) for shard in shards)
                steps.append(DeleteKeyspace(prune.name, deletions))
            case RecordKind.CELL:
                steps.append(DeleteCell(prune.name))
    return steps


def _delete_shard(shard: ShardId, read: TopologyPicture) -> DeleteShard:
    record = read.shards[shard.keyspace, shard.shard]
    tablets = frozenset(read.tablets_of(shard.keyspace, shard.shard))
    return DeleteShard(shard.keyspace, shard.shard, record.version, tablets)
