"""Topology as it was read at one moment: which records there are, and of which cells nothing could be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.vitess.federated.reading import ShardId


@dataclass(frozen=True, slots=True)
class TabletRecord:
    """A tablet as it registered itself; `type` is spelt as Vitess does, such as PRIMARY or REPLICA."""

    alias: str
    cell: str
    shard: ShardId
    type: str = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """A shard: the alias of its primary, "" where it has none."""

    primary: str = ""
    serving: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """All records of a Vitess. `serving` are the shards of each keyspace that a cell's vtgates lead queries to.

    Of the cells that are `unread` nothing is known: their lockservers did not answer.
    """

    cells: frozenset[str] = frozenset()
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keyspaces: frozenset[str] = frozenset()
    shards: Mapping[ShardId, ShardRecord] = field(default_factory=dict)
    tablets: Mapping[str, TabletRecord] = field(default_factory=dict)
    serving: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()

    def primary(self, shard: ShardId) -> str:
        """Return the alias of a shard's primary, "" where the record names none."""
        return self.shards.get(shard, ShardRecord()).primary

    def claimants(self, shard: ShardId) -> tuple[str, ...]:
        """Return the tablets of a shard that say they are its primary."""
        return tuple(
            sorted(each.alias for each in self.tablets.values() if each.shard == shard and each.type == "PRIMARY")
        )
