"""Does what was planned, each step with the proof that what it was planned on still holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hanse.api.vitess_records.topology import Keyspace, ShardReplication, TabletAlias
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.picture import TopologyPicture, read_picture
from hanse.vitess.topology.steps import (
    CreateKeyspace,
    DeleteCell,
    DeleteKeyspace,
    DeleteShard,
    DeleteSrvKeyspace,
    DeleteTablet,
    Removal,
    RemoveShardCell,
    SetDurability,
    Step,
    Told,
    WriteAlias,
    WriteCell,
    Writing,
)
from hanse.vitess.topology.store import BadVersion, NodeExists, NoNode, TopologyError


async def perform(topology: Topology, steps: Iterable[Step]) -> list[Told]:
    """Do steps one after the other and say what was done, what failed and what is blocked; no failure stops others."""
    told: list[Told] = []
    for step in steps:
        if isinstance(step, Told):
            told.append(step)
            continue
        removes = isinstance(step, Removal)
        try:
            await apply(topology, step)
        except TopologyError as error:
            told.append(Told("TopoCleanupFailed" if removes else "TopoUpdateFailed", f"{step}: {error}"))
        else:
            verb = " removed from topology" if removes else ""
            told.append(Told("TopoCleanup" if removes else "TopoUpdated", f"{step}{verb}", warning=False))
    return told


async def apply(topology: Topology, step: Writing | Removal) -> None:
    """Do one step; raises TopologyError, BadVersion where the step was planned on something else than what is there."""
    match step:
        case WriteAlias(alias, record):
            await topology.ensure(paths.cells_alias(alias), record, lambda found: replace(found, cells=record.cells))
        case WriteCell(cell, info):
            await topology.ensure(
                paths.cell_info(cell),
                info,
                lambda found: replace(found, server_address=info.server_address, root=info.root),
            )
        case CreateKeyspace(keyspace, made):
            await _create_keyspace(topology, keyspace, made)
        case SetDurability(keyspace, policy):
            async with await topology.lock(paths.keyspace_directory(keyspace), "SetKeyspaceDurabilityPolicy") as lock:
                await lock.check()
                place = paths.keyspace(keyspace)
                await topology.update(place, lambda found: replace(found, durability_policy=policy))
        case DeleteCell(cell):
            await _delete_cell(topology, cell)
        case DeleteSrvKeyspace(cell, keyspace):
            await topology.delete(paths.srv_keyspace(cell, keyspace))
        case RemoveShardCell(keyspace, shard, cell):
            await _remove_shard_cell(topology, step)
        case DeleteTablet(alias, keyspace, shard, version):
            await topology.delete(paths.tablet(alias), version)
            await _forget(topology, keyspace, shard, {alias})
        case DeleteShard():
            await _delete_shard(topology, step)
        case DeleteKeyspace():
            await _delete_keyspace(topology, step)


async def _create_keyspace(topology: Topology, keyspace: str, record: Keyspace) -> None:
    try:
        await topology.create(paths.keyspace(keyspace), record)
    except NodeExists:
        return


async def _delete_cell(topology: Topology, cell: str) -> None:
    """Forget a cell, unless something came to it meanwhile or its record was written anew."""
    found = await topology.read(paths.cell_info(cell))
    here = (await read_picture(topology, [cell])).local.get(cell)
    if here is None or here.tablets or here.srv_keyspaces:
        raise BadVersion(f"something came to cell {cell} meanwhile, or it does not answer")
    await topology.delete(paths.cell_info(cell), found.version)


async def _remove_shard_cell(topology: Topology, step: RemoveShardCell) -> None:
    """Remove what a cell holds of a shard, under the shard's lock; a tablet that came meanwhile keeps it."""
    async with await topology.lock(paths.shard_directory(step.keyspace, step.shard), "RemoveShardCell") as lock:
        picture = await read_picture(topology, [step.cell])
        here = picture.local.get(step.cell)
        if here is None or here.tablets_of(step.keyspace, step.shard):
            raise BadVersion(f"a tablet came to cell {step.cell} meanwhile, or the cell does not answer")
        await lock.check()
        await topology.delete(paths.shard_replication(step.cell, step.keyspace, step.shard))


async def _delete_shard(topology: Topology, step: DeleteShard) -> None:
    async with await topology.lock(paths.shard_directory(step.keyspace, step.shard), "DeleteShard") as lock:
        picture = await read_picture(topology)
        _demand_unchanged(picture, step)
        if serving := picture.serving_cells(step.keyspace, step.shard):
            raise BadVersion(f"{step} serves in {', '.join(sorted(serving))} again")
        await lock.check()
        await _remove_shard(topology, picture, step)


async def _delete_keyspace(topology: Topology, step: DeleteKeyspace) -> None:
    """Remove a keyspace as Vitess does: first what leads to it, then what is in it, itself last."""
    directory = paths.keyspace_directory(step.keyspace)
    async with await topology.lock(directory, "DeleteKeyspace") as lock:
        picture = await read_picture(topology)
        if picture.shard_names(step.keyspace) != {each.shard for each in step.shards}:
            raise BadVersion(f"{step} has other shards than it had when its removal was planned")
        for each in step.shards:
            _demand_unchanged(picture, each)
        await lock.check()
        await topology.delete(paths.vschema(step.keyspace))
        for cell in picture.local:
            await topology.delete(paths.srv_keyspace(cell, step.keyspace))
        for each in step.shards:
            directory = paths.shard_directory(each.keyspace, each.shard)
            async with await topology.lock(directory, "DeleteKeyspace") as inner:
                await lock.check()
                await inner.check()
                await _remove_shard(topology, picture, each)
        await topology.delete(paths.keyspace(step.keyspace))


def _demand_unchanged(picture: TopologyPicture, step: DeleteShard) -> None:
    if picture.silent:
        raise BadVersion(f"cell {min(picture.silent)} does not answer any more")
    record = picture.shards.get((step.keyspace, step.shard))
    if record is None or record.version != step.version:
        raise BadVersion(f"{step} was changed by another meanwhile")
    if frozenset(picture.tablets_of(step.keyspace, step.shard)) != step.tablets:
        raise BadVersion(f"{step} has other tablets than it had when its removal was planned")


async def _remove_shard(topology: Topology, picture: TopologyPicture, step: DeleteShard) -> None:
    for alias, tablet in picture.tablets_of(step.keyspace, step.shard).items():
        await topology.delete(paths.tablet(alias), tablet.version)
    for cell in picture.local:
        await topology.delete(paths.shard_replication(cell, step.keyspace, step.shard))
    await topology.delete(paths.shard(step.keyspace, step.shard), step.version)


async def _forget(topology: Topology, keyspace: str, shard: str, gone: set[TabletAlias]) -> None:
    """Take tablets out of the list of their shard in their cell."""

    def without(record: ShardReplication) -> ShardReplication:
        return replace(record, nodes=tuple(node for node in record.nodes if node.tablet_alias not in gone))

    for cell in {alias.cell for alias in gone}:
        try:
            await topology.update(paths.shard_replication(cell, keyspace, shard), without)
        except NoNode:
            continue
