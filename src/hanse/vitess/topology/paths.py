"""Where each record lies: in the global lockserver or in that of a cell, and of which type it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from hanse.api.vitess_records.topology import (
    CellInfo,
    CellsAlias,
    Keyspace,
    Shard,
    ShardReplication,
    SrvKeyspace,
    SrvVSchema,
    Tablet,
    TabletAlias,
    VSchema,
)
from hanse.api.vitess_records.wire import Message

M = TypeVar("M", bound=Message)

GLOBAL = "global"
"""The scope of what is known everywhere; every other scope is the name of a cell, which may not be called so."""

LOCKS = "locks"
"""The folder in which the locks of a directory lie."""


@dataclass(frozen=True, slots=True)
class Place(Generic[M]):
    """One record: the scope in whose lockserver it lies, its path there, its type."""

    scope: str
    path: str
    type: type[M]

    def __str__(self) -> str:
        return f"{self.scope}:{self.path}"


def cell_info(cell: str) -> Place[CellInfo]:
    """Where a cell is registered."""
    return Place(GLOBAL, f"cells/{cell}/CellInfo", CellInfo)


def cells_alias(alias: str) -> Place[CellsAlias]:
    """A group of cells."""
    return Place(GLOBAL, f"cells_aliases/{alias}/CellsAlias", CellsAlias)


def keyspace(name: str) -> Place[Keyspace]:
    """A keyspace."""
    return Place(GLOBAL, f"keyspaces/{name}/Keyspace", Keyspace)


def vschema(keyspace: str) -> Place[VSchema]:
    """How a keyspace is sharded."""
    return Place(GLOBAL, f"keyspaces/{keyspace}/VSchema", VSchema)


def shard(keyspace: str, name: str) -> Place[Shard]:
    """A shard."""
    return Place(GLOBAL, f"{shard_directory(keyspace, name)}/Shard", Shard)


def tablet(alias: TabletAlias) -> Place[Tablet]:
    """A tablet, in its cell."""
    return Place(alias.cell, f"tablets/{alias}/Tablet", Tablet)


def shard_replication(cell: str, keyspace: str, shard: str) -> Place[ShardReplication]:
    """The tablets of a shard in a cell."""
    return Place(cell, f"{shard_directory(keyspace, shard)}/ShardReplication", ShardReplication)


def srv_keyspace(cell: str, keyspace: str) -> Place[SrvKeyspace]:
    """What the vtgates of a cell know of a keyspace."""
    return Place(cell, f"keyspaces/{keyspace}/SrvKeyspace", SrvKeyspace)


def srv_vschema(cell: str) -> Place[SrvVSchema]:
    """The VSchemas as the vtgates of a cell read them."""
    return Place(cell, "SrvVSchema", SrvVSchema)


def drain_token(keyspace: str, shard: str) -> str:
    """Where it is said whose drain of a shard it is; Hanse's own, which Vitess does not read."""
    return f"hanse/drains/{keyspace}/{shard}/Token"


def promotion(keyspace: str, shard: str) -> str:
    """Where it is said which tablet was asked to become the first primary of a shard; Hanse's own, too."""
    return f"hanse/promotions/{keyspace}/{shard}/Promotion"


def keyspace_directory(keyspace: str) -> str:
    """What is locked to change a keyspace."""
    return f"keyspaces/{keyspace}"


def shard_directory(keyspace: str, shard: str) -> str:
    """What is locked to change a shard or its primary."""
    return f"keyspaces/{keyspace}/shards/{shard}"
