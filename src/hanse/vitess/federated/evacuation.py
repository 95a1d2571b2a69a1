"""Leaving a whole member: first all its primaries elsewhere, then its tablets, never the last that could be primary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.tokens import (
    AVAILABLE_SECONDS,
    LARGEST_LAG_SECONDS,
    Reparent,
    TabletSight,
    best_candidate,
)


@dataclass(frozen=True, slots=True)
class ShardSight:
    """A shard as it is seen now: the alias of its primary, and every tablet."""

    id: ShardId
    primary: str
    tablets: tuple[TabletSight, ...]


@dataclass(frozen=True, slots=True)
class Evacuation:
    """What is to be done now: primaries that move, tablets that may be drained, and what cannot be, with the reason."""

    reparents: Mapping[ShardId, Reparent]
    drains: tuple[str, ...]
    blocked: tuple[str, ...]

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return not (self.reparents or self.drains or self.blocked)


def evacuate(member: str, shards: Sequence[ShardSight], *, preferred_cells: Sequence[str] = ()) -> Evacuation:
    """Say what to do next to empty a member; no tablet is drained while any primary is still there."""
    reparents, blocked = dict[ShardId, Reparent](), list[str]()
    drains: list[str] = []
    for shard in sorted(shards, key=lambda each: each.id):
        here = [tablet for tablet in shard.tablets if tablet.member == member]
        if not here:
            continue
        found = best_candidate(shard.tablets, shard.primary, preferred_cells=preferred_cells, excluded=(member,))
        leads = any(tablet.alias == shard.primary for tablet in here)
        if not shard.primary:
            blocked.append(f"{shard.id} has no primary; repair it first")
        elif leads and found is None:
            why = _hindrance(shard, member)
            blocked.append(f"{shard.id}: nobody in another cluster can take over from {shard.primary} yet: {why}")
        elif leads and found is not None:
            reparents[shard.id] = Reparent(shard.primary, found.alias, found.member)
        elif found is None and not _leads_elsewhere(shard, member):
            blocked.append(f"{shard.id}: nobody outside {member} could be its primary")
        else:
            drains += [tablet.alias for tablet in here if not tablet.drain]
    if reparents:
        drains = []
    return Evacuation(reparents, tuple(sorted(drains)), tuple(blocked))


def _hindrance(shard: ShardSight, member: str) -> str:
    """Say what keeps the tablet of another cluster that is nearest to it from being the primary."""
    others = [each for each in shard.tablets if each.member != member and each.type == "REPLICA"]
    if not others:
        return "no other cluster has a replica of it"
    nearest = max(others, key=lambda each: (not each.drain, each.ready_for, each.alias))
    if nearest.drain or nearest.finished:
        return f"{nearest.alias} is drained itself"
    if not nearest.available:
        return f"{nearest.alias} has to be available for {AVAILABLE_SECONDS:g} s first"
    if nearest.lag is None:
        return f"{nearest.alias} does not tell how far behind it is"
    return f"{nearest.alias} is more than {LARGEST_LAG_SECONDS:g} s behind"


def _leads_elsewhere(shard: ShardSight, member: str) -> bool:
    """Tell whether the primary is in another cluster and well: the shard then lives without this member."""
    return any(each.alias == shard.primary and each.member != member and each.available for each in shard.tablets)
