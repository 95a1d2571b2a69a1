"""What leaves a member leaves it in two steps: first its tablets, and the entry itself once the member says it is idle.

An operator that finds a keyspace gone from its VitessCluster at once would have to guess whether its data is still
wanted; one that finds it without tablets drains them, and then says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.kube.manifest import Obj
from hanse.vitess.federated.plan import Entries


@dataclass(frozen=True, slots=True)
class MemberNews:
    """What a member was last seen to say of what it has.

    Without `known` nothing is: it cannot be reached, or has not told yet. `current` says that it has taken in what it
    was given last. `idle_cells` and `idle_keyspaces` are those of which it says so; unknown is never idle. `absent`
    says that it has no VitessCluster at all.
    """

    known: bool = False
    current: bool = False
    absent: bool = False
    idle_cells: frozenset[str] = field(default_factory=frozenset)
    idle_keyspaces: frozenset[str] = field(default_factory=frozenset)


def emptied(keyspace: Obj) -> Obj:
    """Return a keyspace with all its shards and no tablets in them."""
    made = {name: value for name, value in keyspace.items() if name != "partitionings"}
    return {**made, "partitionings": [_emptied(each) for each in keyspace.get("partitionings") or ()]}


def _emptied(partitioning: Obj) -> Obj:
    made = dict(partitioning)
    if equal := made.get("equal"):
        made["equal"] = {**equal, "shardTemplate": _without_pools(equal.get("shardTemplate") or {})}
    if custom := made.get("custom"):
        made["custom"] = {**custom, "shards": [_without_pools(shard) for shard in custom.get("shards") or ()]}
    return made


def _without_pools(template: Obj) -> Obj:
    # Nobody begins a shard that is being left.
    replication = {**(template.get("replication") or {}), "initializeMaster": False, "initializeBackup": False}
    return {**template, "tabletPools": [], "replication": replication}


def still_leaving(before: Entries, leaving: Entries, wanted: Entries, news: MemberNews) -> Entries:
    """Return what a member keeps, emptied, although the specification has it there no longer.

    `before` is what it was given of the last specification, `leaving` what it had to let go already, `wanted` what the
    present one gives it. What it says is idle is asked for no longer, keyspaces before the cells that they were in.
    """
    if news.absent:
        return Entries()
    keyspaces = {
        name: entry
        for name, entry in {**leaving.keyspaces, **before.keyspaces}.items()
        if name not in wanted.keyspaces
        and not (name in leaving.keyspaces and _is_idle(name, news, news.idle_keyspaces))
    }
    cells = {
        name: entry
        for name, entry in {**leaving.cells, **before.cells}.items()
        if name not in wanted.cells
        and (keyspaces or name not in leaving.cells or not _is_idle(name, news, news.idle_cells))
    }
    return Entries(cells, keyspaces)


def _is_idle(name: str, news: MemberNews, idle: frozenset[str]) -> bool:
    return news.known and news.current and name in idle


def is_moved(cell: str, home: str, before: Mapping[str, str]) -> bool:
    """Tell whether a cell that is still in one member is now asked for in another: its data would not come along."""
    return before.get(cell, home) != home
