"""How large one VitessCluster may be: counted before anything is made of it, so that no number written down by one
person keeps a control plane from everybody else's work.
"""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.manifest import Obj, dig
from hanse.vitess.key_ranges import parts_problem

MOST_SHARDS = 4096
MOST_TABLETS = 20_000


def size_problem(keyspaces: Sequence[Obj]) -> str:
    """Tell in a sentence why keyspaces are too large together; "" where they are not."""
    counts = [_counted(each) for keyspace in keyspaces for each in keyspace.get("partitionings") or ()]
    shards, tablets = sum(shards for shards, _ in counts), sum(tablets for _, tablets in counts)
    if shards > MOST_SHARDS:
        return f"{shards} shards are asked for; one VitessCluster has at most {MOST_SHARDS}, so divide it"
    if tablets > MOST_TABLETS:
        return f"{tablets} tablets are asked for; one VitessCluster has at most {MOST_TABLETS}, so divide it"
    return ""


def _counted(partitioning: Obj) -> tuple[int, int]:
    """Return how many shards and tablets a partitioning asks for; one that divides nothing is refused for that."""
    if equal := partitioning.get("equal"):
        parts = int(equal.get("parts") or 0)
        if parts_problem(parts, int(equal.get("hexWidth") or 0)):
            return 0, 0
        return parts, parts * _tablets(equal.get("shardTemplate") or {})
    shards = dig(partitioning, "custom", "shards", default=[])
    return len(shards), sum(map(_tablets, shards))


def _tablets(template: Obj) -> int:
    return sum(max(int(pool.get("replicas") or 0), 0) for pool in template.get("tabletPools") or ())
