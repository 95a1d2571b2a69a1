"""Which member begins each shard: exactly one, for as long as nobody has to take its place.

Two that begin would elect two primaries; none would wait for ever. So the choice is remembered, and changes only where
its cluster is lost and the shard never got a primary.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hanse.kube.manifest import Obj, dig
from hanse.vitess.federated.reading import Shard, ShardId, all_shards
from hanse.vitess.federated.refusal import Refusal

PREFERENCE_FIELD = "spec.federation.initializer.clusters"


def choose_initializers(
    shards: Sequence[Shard],
    homes: Mapping[str, str],
    before: Mapping[ShardId, str],
    *,
    lost: Collection[str] = (),
    without_primary: Collection[ShardId] = (),
    preferred: Sequence[str] = (),
) -> dict[ShardId, str]:
    """Return who begins each shard; shards that nobody can begin, or that nobody shall, are left out.

    `without_primary` are the shards whose record was read and names none: of others that is not known, or they have
    one, and then nothing is begun anew.
    """
    chosen = {}
    for shard in shards:
        able = candidates(shard, homes)
        if not able or not shard.initialize:
            continue
        kept = before.get(shard.id)
        if kept in able and not (kept in lost and shard.id in without_primary):
            chosen[shard.id] = str(kept)
            continue
        ready = [member for member in able if member not in lost]
        if kept is not None and kept in able and not ready:
            # Nobody could do it better, and whoever it is may come back.
            chosen[shard.id] = kept
            continue
        chosen[shard.id] = _first(ready or able, preferred)
    return chosen


def candidates(shard: Shard, homes: Mapping[str, str]) -> list[str]:
    """Return the members that have tablets of a shard that may become its primary, in the order of its pools."""
    able = (homes.get(pool.cell) for pool in shard.pools if pool.eligible and pool.replicas > 0)
    return list(dict.fromkeys(member for member in able if member is not None))


def _first(able: Sequence[str], preferred: Sequence[str]) -> str:
    return next((member for member in preferred if member in able), able[0])


def preferred_clusters(spec: Obj) -> tuple[str, ...]:
    """Return the clusters that a specification wants to begin its shards, best first."""
    return tuple(dig(spec, "federation", "initializer", "clusters", default=()))


def initializer_refusals(spec: Obj, homes: Mapping[str, str]) -> list[Refusal]:
    """Say which shards nobody could begin, or not those who are asked to."""
    found, wanted = [], preferred_clusters(spec)
    for shard in all_shards(spec):
        tablets = [pool for pool in shard.pools if pool.replicas > 0]
        able = candidates(shard, homes)
        if tablets and not able:
            sentence = f"shard {shard.id} has tablets, and none that can be its primary; add a pool of type replica"
            found.append(Refusal(f"{shard.path}.tabletPools", sentence))
        elif able and wanted and not set(wanted) & set(able):
            sentence = (
                f"none of {', '.join(wanted)} has a replica pool of shard {shard.id}; add {able[0]}, or give one of "
                "them such a pool"
            )
            found.append(Refusal(PREFERENCE_FIELD, sentence))
    return found


def initializer_pools(shard: Shard, homes: Mapping[str, str], member: str) -> list[str]:
    """Return the backup locations of a member's pools of a shard; the first pool's is the one that gets seeded."""
    return [pool.location for pool in shard.pools if homes.get(pool.cell) == member]
