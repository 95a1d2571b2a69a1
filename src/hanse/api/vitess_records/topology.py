"""The records that Vitess keeps in its lockserver: those fields that Hanse reads or writes, the others untouched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated


class TabletType(IntEnum):
    """What a tablet is for. MASTER is the old name of PRIMARY, BATCH that of RDONLY; both are read."""

    UNKNOWN = 0
    PRIMARY = 1
    MASTER = 1
    REPLICA = 2
    RDONLY = 3
    BATCH = 3
    SPARE = 4
    EXPERIMENTAL = 5
    BACKUP = 6
    RESTORE = 7
    DRAINED = 8

    @classmethod
    def _missing_(cls, value: object) -> TabletType | None:
        """Keep a number that a newer Vitess may have introduced, so that it is written back as it was."""
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = f"TYPE_{value}"
        member._value_ = value
        return member


class KeyspaceType(IntEnum):
    """Whether a keyspace takes writes."""

    NORMAL = 0
    SNAPSHOT = 1


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds since the epoch, and what is left in nanoseconds."""

    seconds: Annotated[int, 1] = 0
    nanoseconds: Annotated[int, 2] = 0
    unknown: bytes = b""

    @classmethod
    def of(cls, seconds: float) -> Time:
        """Return a time of day as Vitess writes it."""
        whole = int(seconds)
        return cls(whole, int((seconds - whole) * 1e9))

    @property
    def timestamp(self) -> float:
        """The time in seconds since the epoch."""
        return self.seconds + self.nanoseconds / 1e9


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keyspace ids from start, which belongs to it, to end, which does not; an empty bound is open."""

    start: Annotated[bytes, 1] = b""
    end: Annotated[bytes, 2] = b""
    unknown: bytes = b""

    @classmethod
    def of_shard(cls, name: str) -> KeyRange | None:
        """Return the range that a shard's name says; None for shards that have no range, such as "0"."""
        start, dash, end = name.partition("-")
        if not dash:
            return None
        try:
            return cls(bytes.fromhex(start), bytes.fromhex(end))
        except ValueError:
            return None

    def overlaps(self, other: KeyRange) -> bool:
        """Whether some keyspace id is in both."""
        return (not other.end or self.start < other.end) and (not self.end or other.start < self.end)


@dataclass(frozen=True, slots=True, order=True)
class TabletAlias:
    """A tablet's name in the whole of Vitess: its cell and its number there."""

    cell: Annotated[str, 1] = ""
    uid: Annotated[int, 2] = 0
    unknown: bytes = b""

    def __str__(self) -> str:
        return f"{self.cell}-{self.uid:010d}"

    @classmethod
    def parse(cls, text: str) -> TabletAlias:
        """Read `cell-0000000100`; raises ValueError for anything else."""
        cell, dash, uid = text.rpartition("-")
        if not dash or not cell or not uid.isdecimal() or int(uid) >= 1 << 32:
            raise ValueError(
                f"{text!r} is no tablet alias: write the cell, a dash and a number, as in zone1-0000000100"
            )
        return cls(cell, int(uid))


@dataclass(frozen=True, slots=True)
class CellInfo:
    """Where a cell keeps its own records."""

    server_address: Annotated[str, 1] = ""
    root: Annotated[str, 2] = ""
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class CellsAlias:
    """Cells between which vtgates may route to replicas; a cell is in one alias at most."""

    cells: Annotated[tuple[str, ...], 2] = ()
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class Keyspace:
    """A logical database."""

    keyspace_type: Annotated[KeyspaceType, 5] = KeyspaceType.NORMAL
    base_keyspace: Annotated[str, 6] = ""
    snapshot_time: Annotated[Time | None, 7] = None
    durability_policy: Annotated[str, 8] = ""
    sidecar_db_name: Annotated[str, 10] = ""
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class SourceShard:
    """From where a shard replicates by filtered replication."""

    uid: Annotated[int, 1] = 0
    keyspace: Annotated[str, 2] = ""
    shard: Annotated[str, 3] = ""
    key_range: Annotated[KeyRange | None, 4] = None
    tables: Annotated[tuple[str, ...], 5] = ()
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard: who its primary is, since when, and whether it takes writes."""

    primary_alias: Annotated[TabletAlias | None, 1] = None
    key_range: Annotated[KeyRange | None, 2] = None
    source_shards: Annotated[tuple[SourceShard, ...], 4] = ()
    is_primary_serving: Annotated[bool, 7] = False
    primary_term_start_time: Annotated[Time | None, 8] = None
    unknown: bytes = b""

    @property
    def primary(self) -> TabletAlias | None:
        """The primary, None where there is none: Vitess writes both an absent and an empty alias for that."""
        alias = self.primary_alias
        return alias if alias is not None and alias.cell else None


@dataclass(frozen=True, slots=True)
class Tablet:
    """One tablet as it registered itself."""

    alias: Annotated[TabletAlias | None, 1] = None
    hostname: Annotated[str, 2] = ""
    port_map: Annotated[Mapping[str, int], 4] = field(default_factory=dict)
    keyspace: Annotated[str, 5] = ""
    shard: Annotated[str, 6] = ""
    key_range: Annotated[KeyRange | None, 7] = None
    type: Annotated[TabletType, 8] = TabletType.UNKNOWN
    db_name_override: Annotated[str, 9] = ""
    tags: Annotated[Mapping[str, str], 10] = field(default_factory=dict)
    mysql_hostname: Annotated[str, 12] = ""
    mysql_port: Annotated[int, 13] = 0
    primary_term_start_time: Annotated[Time | None, 14] = None
    tablet_start_time: Annotated[Time | None, 17] = None
    tablet_shutdown_time: Annotated[Time | None, 18] = None
    unknown: bytes = b""

    @property
    def grpc_address(self) -> str:
        """Where its tablet manager listens."""
        return f"{self.hostname}:{self.port_map.get('grpc', 0)}"


@dataclass(frozen=True, slots=True)
class ShardReplicationNode:
    """One tablet of a shard in a cell."""

    tablet_alias: Annotated[TabletAlias | None, 1] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class ShardReplication:
    """The tablets of a shard in one cell."""

    nodes: Annotated[tuple[ShardReplicationNode, ...], 1] = ()
    unknown: bytes = b""

    @classmethod
    def of(cls, aliases: tuple[TabletAlias, ...]) -> ShardReplication:
        """Return the record that lists these tablets."""
        return cls(tuple(ShardReplicationNode(alias) for alias in aliases))

    @property
    def aliases(self) -> tuple[TabletAlias, ...]:
        """The tablets, in the order of the record."""
        return tuple(node.tablet_alias for node in self.nodes if node.tablet_alias is not None)


@dataclass(frozen=True, slots=True)
class ShardReference:
    """A shard that serves."""

    name: Annotated[str, 1] = ""
    key_range: Annotated[KeyRange | None, 2] = None
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class KeyspacePartition:
    """The shards that serve one type of tablet."""

    served_type: Annotated[TabletType, 1] = TabletType.UNKNOWN
    shard_references: Annotated[tuple[ShardReference, ...], 2] = ()
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class SrvKeyspace:
    """What the vtgates of a cell know of a keyspace: by which shards each type is served."""

    partitions: Annotated[tuple[KeyspacePartition, ...], 1] = ()
    unknown: bytes = b""

    def shards(self, served_type: TabletType | None = None) -> frozenset[str]:
        """Return the shards that serve a type, or any."""
        wanted = (each for each in self.partitions if served_type is None or each.served_type == served_type)
        return frozenset(reference.name for each in wanted for reference in each.shard_references)


@dataclass(frozen=True, slots=True)
class VSchema:
    """How the tables of a keyspace are sharded; Hanse only asks whether it is there, and keeps it as it is."""

    sharded: Annotated[bool, 1] = False
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class SrvVSchema:
    """The VSchemas of all keyspaces, as the vtgates of a cell read them."""

    keyspaces: Annotated[Mapping[str, VSchema], 1] = field(default_factory=dict)
    unknown: bytes = b""
