"""Which records of topology may go: those of which it is proven that nobody has, serves or wants them.

For each, (a) the specification has it no longer, (b) every member has taken that in, (c) no member lists it as orphaned
or has objects of it, and (d) neither a tablet that may run nor a serving record refers to it. The record of a tablet
whose member answers and has no pod of it is a leftover: operators never remove that of a primary. A member that cannot
be asked proves nothing, and so blocks, unless a person says that it is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.picture import Picture, TabletRecord
from hanse.vitess.federated.reading import ShardId, all_shards, cell_names, keyspaces_of


class RecordKind(Enum):
    """What is pruned, and the switch of the specification that turns it off."""

    SHARD = "pruneShards"
    KEYSPACE = "pruneKeyspaces"
    CELL = "pruneCells"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one member says.

    `reachable` is whether it answers, `current` whether its operator has taken in what it was given last. `cells`,
    `keyspaces` and `shards` are all that it lists or has objects of, orphaned ones among them; `tablets` are the
    aliases of which it has pods.
    """

    reachable: bool = False
    current: bool = False
    cells: frozenset[str] = frozenset()
    keyspaces: frozenset[str] = frozenset()
    shards: frozenset[ShardId] = field(default_factory=frozenset)
    tablets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, order=True)
class Prune:
    """A record that may go."""

    order: int
    kind: RecordKind = field(compare=False)
    name: str
    shard: ShardId | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What goes, shards first, and why what has to wait does: a sentence each."""

    prune: tuple[Prune, ...] = ()
    blocked: tuple[str, ...] = ()


def judge(
    spec: Obj,
    picture: Picture,
    members: Mapping[str, Evidence],
    *,
    homes: Mapping[str, str] | None = None,
    written_off: Collection[str] = (),
) -> Verdict:
    """Say which records may go.

    `homes` are the members of cells. `written_off` are members of which a person says that they will not come back.
    """
    picture = _without_leftovers(picture, members, homes or {}, written_off)
    wanted_shards = {shard.id for shard in all_shards(spec)}
    wanted_keyspaces = {str(each.get("name", "")) for each in keyspaces_of(spec)}
    asked = {name: each for name, each in members.items() if name not in written_off}
    prune: list[Prune] = []
    blocked: list[str] = []

    def decide(candidate: Prune, obstacle: str) -> None:
        if dig(spec, "topologyReconciliation", candidate.kind.value) is False:
            return
        if obstacle:
            blocked.append(f"{candidate.kind.name.lower()} {candidate.name} stays in topology: {obstacle}")
        else:
            prune.append(candidate)

    for shard in sorted(picture.shards):
        if shard.keyspace in wanted_keyspaces and shard not in wanted_shards:
            decide(Prune(0, RecordKind.SHARD, str(shard), shard), _members(asked, shard) or _shard_use(shard, picture))
    for keyspace in sorted(picture.keyspaces - wanted_keyspaces):
        obstacle = _members(asked, keyspace, "keyspaces") or _keyspace_use(keyspace, picture)
        decide(Prune(1, RecordKind.KEYSPACE, keyspace), obstacle)
    for cell in sorted(picture.cells - set(cell_names(spec))):
        decide(Prune(2, RecordKind.CELL, cell), _members(asked, cell, "cells") or _cell_use(cell, picture))
    return Verdict(tuple(sorted(prune)), tuple(blocked))


def _without_leftovers(
    picture: Picture, members: Mapping[str, Evidence], homes: Mapping[str, str], written_off: Collection[str]
) -> Picture:
    """Return topology without the tablets of which it is certain that they do not run."""

    def may_run(tablet: TabletRecord) -> bool:
        home = homes.get(tablet.cell, "")
        if home in written_off:
            return False
        evidence = members.get(home, Evidence())
        return not (evidence.reachable and evidence.current) or tablet.alias in evidence.tablets

    return replace(picture, tablets={alias: each for alias, each in picture.tablets.items() if may_run(each)})


def _members(members: Mapping[str, Evidence], name: str | ShardId, field_name: str = "shards") -> str:
    if not members:
        return "no member is known that could say whether it has it"
    for member, evidence in sorted(members.items()):
        if not evidence.reachable:
            return f"{member} cannot be asked"
        if not evidence.current:
            return f"{member} has yet to take in the present specification"
        if name in getattr(evidence, field_name):
            return f"{member} still has it"
    return ""


def _shard_use(shard: ShardId, picture: Picture) -> str:
    tablets = sorted(each.alias for each in picture.tablets.values() if each.shard == shard)
    cells = sorted(cell for cell, served in picture.serving.items() if shard.shard in served.get(shard.keyspace, ()))
    return _unread(picture) or _used(tablets, cells)


def _keyspace_use(keyspace: str, picture: Picture) -> str:
    tablets = sorted(each.alias for each in picture.tablets.values() if each.shard.keyspace == keyspace)
    return _unread(picture) or _used(
        tablets, sorted(cell for cell, served in picture.serving.items() if keyspace in served)
    )


def _cell_use(cell: str, picture: Picture) -> str:
    if cell in picture.unread:
        return f"the lockserver of cell {cell} does not answer"
    tablets = sorted(each.alias for each in picture.tablets.values() if each.cell == cell)
    return _used(tablets, [cell] if picture.serving.get(cell) else [])


def _unread(picture: Picture) -> str:
    return f"the lockserver of cell {min(picture.unread)} does not answer" if picture.unread else ""


def _used(tablets: Collection[str], cells: Collection[str]) -> str:
    if tablets:
        return f"tablet {next(iter(tablets))} is registered in it"
    return f"cell {next(iter(cells))} serves it" if cells else ""
