"""The shards of a keyspace: its partitionings laid over each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hanse.kube.manifest import Obj
from hanse.vitess.key_ranges import KeyRange, coverage_problem, equal_ranges, parts_problem, sorted_ranges

MOST_PARTITIONINGS = 2


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """A shard that shall exist, and what its partitioning says of it."""

    key_range: KeyRange
    template: Obj


def given_partitionings(keyspace: Obj) -> list[tuple[int, Obj]]:
    """Return the partitionings that say something, with their places in the list; empty entries say nothing."""
    listed = keyspace.get("partitionings") or ()
    return [(place, each) for place, each in enumerate(listed) if each.get("equal") or each.get("custom")]


def partitioning_shards(partitioning: Obj) -> list[ShardPlan]:
    """Return the shards of one partitioning; raises ValueError where it cannot be divided so."""
    if equal := partitioning.get("equal"):
        ranges = equal_ranges(int(equal.get("parts") or 0), int(equal.get("hexWidth") or 0))
        return [ShardPlan(each, equal.get("shardTemplate") or {}) for each in ranges]
    custom = (partitioning.get("custom") or {}).get("shards") or ()
    return [ShardPlan(custom_range(shard), _template(shard)) for shard in custom]


def custom_range(shard: Obj) -> KeyRange:
    """Return the key range of a custom shard."""
    found = shard.get("keyRange") or {}
    return KeyRange(str(found.get("start") or ""), str(found.get("end") or ""))


def _template(shard: Obj) -> Obj:
    return {name: value for name, value in shard.items() if name != "keyRange"}


def keyspace_shards(keyspace: Obj) -> list[ShardPlan]:
    """Return all shards of a keyspace in their order; of one in two partitionings the later one's template counts."""
    found: dict[KeyRange, ShardPlan] = {}
    for _, partitioning in given_partitionings(keyspace):
        found |= {plan.key_range: plan for plan in partitioning_shards(partitioning)}
    return [found[each] for each in sorted_ranges(found)]


def partitioning_problems(keyspace: Obj) -> Iterator[str]:
    """Tell what is wrong with the partitionings of a keyspace, each with its field."""
    given = given_partitionings(keyspace)
    if not 1 <= len(given) <= MOST_PARTITIONINGS:
        yield f"partitionings: give one, or two while resharding, and not {len(given)}"
    for place, partitioning in given:
        where = f"partitionings[{place}]"
        equal, custom = partitioning.get("equal"), partitioning.get("custom")
        if equal and custom:
            yield f"{where}: give either equal or custom, and not both"
        elif equal:
            if problem := parts_problem(int(equal.get("parts") or 0), int(equal.get("hexWidth") or 0)):
                yield f"{where}.equal: {problem}"
        elif problem := coverage_problem(_ranges(custom or {})):
            yield f"{where}.custom.shards: {problem}"


def _ranges(custom: Obj) -> Sequence[KeyRange]:
    return [custom_range(shard) for shard in custom.get("shards") or ()]
