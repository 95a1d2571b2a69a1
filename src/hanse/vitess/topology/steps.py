"""What may be done to a topology, one value for each: planned by `planning`, done by `applying`."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.api.vitess_records.topology import CellInfo, CellsAlias, Keyspace, TabletAlias
from hanse.vitess.topology.store import Version


@dataclass(frozen=True, slots=True)
class Told:
    """What people are told of, with the reason that an event carries; nothing is done."""

    reason: str
    message: str
    warning: bool = True


@dataclass(frozen=True, slots=True)
class WriteAlias:
    """Say which cells belong together."""

    alias: str
    record: CellsAlias

    def __str__(self) -> str:
        return f"alias {self.alias} is {', '.join(self.record.cells)}"


@dataclass(frozen=True, slots=True)
class WriteCell:
    """Say where a cell keeps its records."""

    cell: str
    info: CellInfo

    def __str__(self) -> str:
        return f"cell {self.cell} is at {self.info.server_address}{self.info.root}"


@dataclass(frozen=True, slots=True)
class CreateKeyspace:
    """Make a keyspace known."""

    keyspace: str
    record: Keyspace

    def __str__(self) -> str:
        return f"keyspace {self.keyspace} created"


@dataclass(frozen=True, slots=True)
class SetDurability:
    """Say who has to acknowledge a write in a keyspace."""

    keyspace: str
    policy: str

    def __str__(self) -> str:
        return f"durability policy of keyspace {self.keyspace} is {self.policy}"


@dataclass(frozen=True, slots=True)
class DeleteCell:
    """Forget a cell in which nothing is left."""

    cell: str

    def __str__(self) -> str:
        return f"cell {self.cell}"


@dataclass(frozen=True, slots=True)
class DeleteShard:
    """Forget a shard with its records in all cells, unless any of it has changed since it was looked at."""

    keyspace: str
    shard: str
    version: Version
    tablets: frozenset[TabletAlias]

    def __str__(self) -> str:
        return f"shard {self.keyspace}/{self.shard}"


@dataclass(frozen=True, slots=True)
class DeleteKeyspace:
    """Forget a keyspace with its VSchema, shards and records in all cells."""

    keyspace: str
    shards: tuple[DeleteShard, ...]

    def __str__(self) -> str:
        return f"keyspace {self.keyspace}"


@dataclass(frozen=True, slots=True)
class DeleteSrvKeyspace:
    """Have the vtgates of a cell forget a keyspace."""

    cell: str
    keyspace: str

    def __str__(self) -> str:
        return f"SrvKeyspace {self.keyspace} of cell {self.cell}"


@dataclass(frozen=True, slots=True)
class RemoveShardCell:
    """Forget that a shard was in a cell."""

    keyspace: str
    shard: str
    cell: str

    def __str__(self) -> str:
        return f"shard {self.keyspace}/{self.shard} in cell {self.cell}"


@dataclass(frozen=True, slots=True)
class DeleteTablet:
    """Forget a tablet, unless it has written its record since it was looked at."""

    alias: TabletAlias
    keyspace: str
    shard: str
    version: Version

    def __str__(self) -> str:
        return f"tablet {self.alias} of shard {self.keyspace}/{self.shard}"


Writing = WriteAlias | WriteCell | CreateKeyspace | SetDurability
Removal = DeleteCell | DeleteShard | DeleteKeyspace | DeleteSrvKeyspace | RemoveShardCell | DeleteTablet
Step = Writing | Removal | Told
