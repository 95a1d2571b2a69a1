"""What a VitessCluster has to change in topology: registration of its own, and removal of what nobody wants any more.

Pure: from what was read and what is wanted to steps, in their order. Nothing is ever removed on ignorance: where a cell
does not answer, what might be in it counts as there. What another operator may own, because it has tablets in cells
that are not of this VitessCluster, is left alone whatever the switches say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hanse.api.planetscale.values import TopologySwitches
from hanse.api.vitess_records.topology import CellInfo, CellsAlias, Keyspace, TabletAlias, TabletType
from hanse.vitess.topology.picture import TopologyPicture
from hanse.vitess.topology.steps import (
    CreateKeyspace,
    DeleteCell,
    DeleteKeyspace,
    DeleteShard,
    DeleteSrvKeyspace,
    DeleteTablet,
    RemoveShardCell,
    SetDurability,
    Step,
    Told,
    WriteAlias,
    WriteCell,
)

DEFAULT_ALIAS = "planetscale_operator_default"


def plan_cells(
    picture: TopologyPicture, wanted: Mapping[str, CellInfo], leaving: Collection[str], switches: TopologySwitches
) -> list[Step]:
    """Plan the alias, the registration of own cells, and the removal of those neither wanted nor still leaving."""
    steps: list[Step] = []
    if switches.register_cells_aliases:
        steps += plan_alias(picture, DEFAULT_ALIAS, wanted)
    if switches.register_cells:
        steps += [WriteCell(cell, wanted[cell]) for cell in sorted(wanted) if picture.cells.get(cell) != wanted[cell]]
    if switches.prune_cells:
        gone = sorted(set(picture.cells) - set(wanted) - set(leaving))
        steps += [_cell_removal(picture, cell) for cell in gone]
    return steps


def plan_alias(picture: TopologyPicture, alias: str, cells: Collection[str]) -> list[Step]:
    """Plan that an alias lists exactly these cells, as long as no other alias has one of them."""
    record = CellsAlias(tuple(sorted(cells)))
    found = picture.aliases.get(alias)
    if not cells or (found is not None and sorted(found.cells) == list(record.cells)):
        return []
    for other, listed in sorted(picture.aliases.items()):
        if other != alias and (shared := sorted(set(listed.cells) & set(cells))):
            message = (
                f"alias {alias} is not written: {', '.join(shared)} is in alias {other} already, and a cell may be in "
                f"one only; remove it there, or switch registerCellsAliases off"
            )
            return [Told("TopoCellAlias", message)]
    return [WriteAlias(alias, record)]


def plan_keyspace(picture: TopologyPicture, keyspace: str, durability: str, sidecar: str) -> list[Step]:
    """Plan that a keyspace is known; an empty durability policy leaves the one that is there."""
    found = picture.keyspaces.get(keyspace)
    if found is None:
        return [CreateKeyspace(keyspace, Keyspace(durability_policy=durability, sidecar_db_name=sidecar))]
    if durability and found.value.durability_policy != durability:
        return [SetDurability(keyspace, durability)]
    return []


def prune_keyspaces(
    picture: TopologyPicture,
    own_cells: Collection[str],
    wanted: Collection[str],
    leaving: Collection[str],
    switches: TopologySwitches,
) -> list[Step]:
    """Plan the removal of keyspaces neither wanted nor still leaving, even if they serve."""
    if not switches.prune_keyspaces:
        return []
    steps: list[Step] = []
    for keyspace in sorted(picture.keyspace_names() - set(wanted) - set(leaving)):
        if obstacle := _obstacle(picture, own_cells, keyspace, None):
            steps.append(_blocked(f"keyspace {keyspace}", obstacle))
            continue
        shards = tuple(_shard_removal(picture, keyspace, shard) for shard in sorted(picture.shard_names(keyspace)))
        steps.append(DeleteKeyspace(keyspace, shards))
    return steps


def prune_shards(
    picture: TopologyPicture,
    own_cells: Collection[str],
    keyspace: str,
    present: Collection[str],
    switches: TopologySwitches,
) -> list[Step]:
    """Plan the removal of shards of a keyspace that are not present any more; never of one that serves."""
    if not switches.prune_shards:
        return []
    steps: list[Step] = []
    for shard in sorted(picture.shard_names(keyspace) - set(present)):
        obstacle = _obstacle(picture, own_cells, keyspace, shard)
        if serving := sorted(picture.serving_cells(keyspace, shard)):
            obstacle = f"it still serves in {', '.join(serving)}"
        name = f"shard {keyspace}/{shard}"
        steps.append(_blocked(name, obstacle) if obstacle else _shard_removal(picture, keyspace, shard))
    return steps


def prune_srv_keyspaces(
    picture: TopologyPicture, cell: str, present: Collection[str], switches: TopologySwitches
) -> list[Step]:
    """Plan that the vtgates of an own cell forget keyspaces that have no pool there."""
    if not switches.prune_srv_keyspaces or cell not in picture.local:
        return []
    return [
        DeleteSrvKeyspace(cell, keyspace) for keyspace in sorted(set(picture.local[cell].srv_keyspaces) - set(present))
    ]


def prune_tablets(
    picture: TopologyPicture,
    own_cells: Collection[str],
    keyspace: str,
    shard: str,
    present: Collection[TabletAlias],
    switches: TopologySwitches,
) -> list[Step]:
    """Plan the removal of tablets of a shard in own cells that are not present any more; never of the primary."""
    if not switches.prune_tablets:
        return []
    record = picture.shards.get((keyspace, shard))
    primary = record.value.primary if record is not None else None
    steps: list[Step] = []
    for cell in sorted(set(own_cells) & set(picture.local)):
        for alias, tablet in sorted(picture.local[cell].tablets_of(keyspace, shard).items()):
            if alias in present:
                continue
            if alias == primary or tablet.value.type == TabletType.PRIMARY:
                steps.append(_blocked(f"tablet {alias}", f"it is the primary of {keyspace}/{shard}"))
            else:
                steps.append(DeleteTablet(alias, keyspace, shard, tablet.version))
    return steps


def prune_shard_cells(
    picture: TopologyPicture,
    own_cells: Collection[str],
    keyspace: str,
    shard: str,
    present: Collection[str],
    switches: TopologySwitches,
) -> list[Step]:
    """Plan that own cells in which a shard is not present any more, and has no tablet left, are taken from it."""
    if not switches.prune_shard_cells:
        return []
    record = picture.shards.get((keyspace, shard))
    primary = record.value.primary if record is not None else None
    steps: list[Step] = []
    for cell in sorted((set(own_cells) & set(picture.local)) - set(present)):
        here = picture.local[cell]
        if (keyspace, shard) not in here.replication:
            continue
        name = f"cell {cell} of shard {keyspace}/{shard}"
        if primary is not None and primary.cell == cell:
            steps.append(_blocked(name, f"its primary {primary} is there"))
        elif left := sorted(map(str, here.tablets_of(keyspace, shard))):
            steps.append(_blocked(name, f"tablets are left there: {', '.join(left)}"))
        else:
            steps.append(RemoveShardCell(keyspace, shard, cell))
    return steps


def _cell_removal(picture: TopologyPicture, cell: str) -> Step:
    if cell in picture.silent or cell not in picture.local:
        why = picture.silent.get(cell, "it was not read")
        return _blocked(f"cell {cell}", f"what is in it is not known ({why})")
    here = picture.local[cell]
    if here.srv_keyspaces:
        return _blocked(f"cell {cell}", f"it serves {', '.join(sorted(here.srv_keyspaces))}")
    if here.tablets:
        return _blocked(f"cell {cell}", f"{len(here.tablets)} tablets are registered there")
    return DeleteCell(cell)


def _obstacle(picture: TopologyPicture, own_cells: Collection[str], keyspace: str, shard: str | None) -> str:
    """Return why a keyspace or a shard must not be removed with all its records; "" where it may be."""
    if picture.silent:
        cell, why = min(picture.silent.items())
        return f"what is in cell {cell} is not known ({why})"
    if unread := sorted(set(picture.cells) - set(picture.local)):
        return f"what is in {', '.join(unread)} was not read"
    foreign = sorted(alias for alias in picture.tablets_of(keyspace, shard) if alias.cell not in own_cells)
    if foreign:
        return f"tablet {foreign[0]} is of another VitessCluster, which may want it still"
    return ""


def _shard_removal(picture: TopologyPicture, keyspace: str, shard: str) -> DeleteShard:
    version = picture.shards[keyspace, shard].version
    return DeleteShard(keyspace, shard, version, frozenset(picture.tablets_of(keyspace, shard)))


def _blocked(what: str, why: str) -> Told:
    return Told("TopoCleanupBlocked", f"{what} stays in topology: {why}")
