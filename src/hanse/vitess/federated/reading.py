"""A federated VitessCluster as it was written: its cells, its keyspaces and the shards and pools in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hanse.kube.manifest import Obj, dig
from hanse.vitess.identity import TabletIdentity
from hanse.vitess.key_ranges import KeyRange, equal_ranges, sorted_ranges

# Only such tablets can become the primary of a shard.
ELIGIBLE = frozenset({"replica", "externalmaster"})
# What the federation adds to upstream's schema; no member is told.
CLUSTER_FIELD, REGION_FIELD, FEDERATION_FIELD = "cluster", "region", "federation"


@dataclass(frozen=True, slots=True, order=True)
class ShardId:
    """One shard of one keyspace."""

    keyspace: str
    shard: str

    def __str__(self) -> str:
        return f"{self.keyspace}/{self.shard}"

    @classmethod
    def parse(cls, text: str) -> ShardId:
        """Read what `str` wrote; keyspaces have no slash in their names."""
        keyspace, _, shard = text.partition("/")
        return cls(keyspace, shard)


@dataclass(frozen=True, slots=True)
class Pool:
    """Tablets of one type in one cell; `path` is the field that says so."""

    cell: str
    type: str
    replicas: int = 0
    name: str = ""
    location: str = ""
    path: str = field(default="", compare=False)

    @property
    def eligible(self) -> bool:
        """Whether the shard's primary may be one of them."""
        return self.type in ELIGIBLE


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard with the template that counts for it: where two partitionings have it, the later one's."""

    id: ShardId
    range: KeyRange
    pools: tuple[Pool, ...] = ()
    initialize: bool = True
    backup: bool = True
    path: str = field(default="", compare=False)

    def identities(self) -> Iterator[TabletIdentity]:
        """Yield every tablet of the shard."""
        for pool in self.pools:
            for index in range(1, pool.replicas + 1):
                yield TabletIdentity(pool.cell, self.id.keyspace, self.id.shard, pool.type, index, pool.name)


def cells_of(spec: Obj) -> list[Obj]:
    """Return the cells in the order in which they are written."""
    return list(spec.get("cells") or ())


def cell_names(spec: Obj) -> tuple[str, ...]:
    """Return the names of the cells, each once."""
    return tuple(dict.fromkeys(str(cell.get("name", "")) for cell in cells_of(spec)))


def keyspaces_of(spec: Obj) -> list[Obj]:
    """Return the keyspaces in the order in which they are written."""
    return list(spec.get("keyspaces") or ())


def partitioning_shards(partitioning: Obj) -> list[tuple[KeyRange, Obj, str]]:
    """Return the shards of a partitioning, each with its template and the field in which that is; none where empty.

    Raises ValueError where it cannot be divided so.
    """
    if (equal := partitioning.get("equal")) is not None:
        template = equal.get("shardTemplate") or {}
        ranges = equal_ranges(int(equal.get("parts") or 0), int(equal.get("hexWidth") or 0))
        return [(each, template, "equal.shardTemplate") for each in ranges]
    shards = dig(partitioning, "custom", "shards", default=[])
    return [(_range(shard), shard, f"custom.shards[{place}]") for place, shard in enumerate(shards)]


def shards_of(keyspace: Obj, path: str = "") -> list[Shard]:
    """Return the shards of a keyspace in their order; raises ValueError where it cannot be divided so."""
    name, found = str(keyspace.get("name", "")), dict[KeyRange, Shard]()
    for place, partitioning in enumerate(keyspace.get("partitionings") or ()):
        for key_range, template, field_name in partitioning_shards(partitioning):
            where = f"{path}.partitionings[{place}].{field_name}"
            found[key_range] = _shard(ShardId(name, str(key_range)), key_range, template, where)
    return [found[each] for each in sorted_ranges(found)]


def all_shards(spec: Obj) -> list[Shard]:
    """Return every shard of every keyspace; raises ValueError where a keyspace cannot be divided so."""
    return [
        shard
        for place, keyspace in enumerate(keyspaces_of(spec))
        for shard in shards_of(keyspace, f"spec.keyspaces[{place}]")
    ]


def pool_cells(keyspace: Obj) -> frozenset[str]:
    """Return the cells in which a keyspace has tablets, in any partitioning."""
    return frozenset(
        str(pool.get("cell", ""))
        for partitioning in keyspace.get("partitionings") or ()
        for template in templates_of(partitioning)
        for pool in template.get("tabletPools") or ()
    )


def templates_of(partitioning: Obj) -> list[Obj]:
    """Return the templates that are written in a partitioning."""
    if partitioning.get("equal") is not None:
        return [partitioning["equal"].get("shardTemplate") or {}]
    return list(dig(partitioning, "custom", "shards", default=[]))


def _range(shard: Obj) -> KeyRange:
    return KeyRange(str(dig(shard, "keyRange", "start", default="")), str(dig(shard, "keyRange", "end", default="")))


def _shard(shard: ShardId, key_range: KeyRange, template: Obj, path: str) -> Shard:
    replication = template.get("replication") or {}
    pools = tuple(
        Pool(
            cell=str(pool.get("cell", "")),
            type=str(pool.get("type", "")),
            replicas=int(pool.get("replicas") or 0),
            # Upstream tells only pools of external databases apart by their names.
            name=str(pool.get("name") or "") if pool.get("externalDatastore") else "",
            location=str(pool.get("backupLocationName") or ""),
            path=f"{path}.tabletPools[{place}]",
        )
        for place, pool in enumerate(template.get("tabletPools") or ())
    )
    initialize = replication.get("initializeMaster") is not False
    return Shard(shard, key_range, pools, initialize, replication.get("initializeBackup") is not False, path)
