"""How many replicas each cluster gets: the planner of federation v1 and KubeFed, result for result.

Minima first, in order; then, unless rebalancing is asked for, what is running already stays; the rest goes round by
weight until nothing moves. Clusters are ordered by weight, then by a hash of their name and the workload's key, so
that the odd replica of every workload does not land in the same cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hanse.placement.hashing import fnv1_32

ANY_CLUSTER = "*"
_INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class Preference:
    """What one cluster should hold."""

    weight: int = 0
    min_replicas: int = 0
    max_replicas: int | None = None


@dataclass(frozen=True, slots=True)
class Preferences:
    """What each cluster should hold, by name or `*` for those without an entry of their own."""

    clusters: Mapping[str, Preference] = field(default_factory=dict)
    rebalance: bool = False

    def of(self, cluster: str) -> Preference | None:
        """Return a cluster's own preference, else that of `*`, else None."""
        return self.clusters.get(cluster, self.clusters.get(ANY_CLUSTER))


@dataclass(frozen=True, slots=True)
class Plan:
    """Replicas by cluster, what a full cluster would have got beyond its capacity, and what found no place."""

    replicas: dict[str, int]
    overflow: dict[str, int]
    unplaced: int


@dataclass(slots=True)
class _Share:
    name: str
    weight: int
    minimum: int
    limit: float
    capacity: float
    kept: int = 0
    planned: int = 0
    overflow: int = 0


def plan_replicas(
    total: int,
    clusters: Collection[str],
    preferences: Preferences,
    *,
    key: str,
    current: Mapping[str, int] | None = None,
    capacity: Mapping[str, int] | None = None,
    limits: Mapping[str, int] | None = None,
    hashes: Mapping[str, int] | None = None,
) -> Plan:
    """Divide `total` over the clusters; the order of the input does not matter.

    `capacity` is what a cluster turned out to hold: what it would get beyond that is its overflow. `limits` are maxima
    that bind the minima of the preferences as well. `hashes` are those of cluster and key, for one who has
    them already.
    """
    current, capacity = current or {}, capacity or {}
    shares = _ordered_shares(clusters, preferences, key, capacity, limits or {}, hashes)
    left = _give_minima(shares, total)
    if not preferences.rebalance:
        left = _keep_running(shares, current, left)
    left = _give_by_weight(shares, left)
    replicas = dict.fromkeys(sorted(clusters), 0)
    replicas |= {share.name: share.planned for share in shares}
    overflow = {share.name: share.overflow for share in shares if share.overflow}
    if not preferences.rebalance:
        overflow = {name: min(extra, left) for name, extra in overflow.items() if min(extra, left) > 0}
    return Plan(replicas, overflow, left)


def _ordered_shares(
    clusters: Collection[str],
    preferences: Preferences,
    key: str,
    capacity: Mapping[str, int],
    limits: Mapping[str, int],
    hashes: Mapping[str, int] | None,
) -> list[_Share]:
    if hashes is None:
        hashes = {name: fnv1_32((name + key).encode()) for name in clusters}
    own, default = preferences.clusters, preferences.clusters.get(ANY_CLUSTER)
    shares = []
    for name in clusters:
        preference = own.get(name, default)
        if preference is None:
            continue
        limit = _INFINITE if preference.max_replicas is None else preference.max_replicas
        minimum = preference.min_replicas
        if name in limits:
            limit, minimum = min(limit, limits[name]), min(minimum, limits[name])
        shares.append(_Share(name, preference.weight, minimum, limit, capacity.get(name, _INFINITE)))
    shares.sort(key=lambda share: (-share.weight, hashes[share.name], share.name))
    return shares


def _give_minima(shares: list[_Share], left: int) -> int:
    for share in shares:
        if not share.minimum:
            continue
        # The maximum is not looked at here, as in the original.
        share.planned = max(0, int(min(share.minimum, left, share.capacity)))
        left -= share.planned
    return left


def _keep_running(shares: list[_Share], current: Mapping[str, int], left: int) -> int:
    for share in shares:
        running = current.get(share.name, 0)
        if running > share.planned:
            target = min(running, share.limit, share.capacity)
            share.kept = int(max(0, min(target - share.planned, left)))
            share.planned += share.kept
            left -= share.kept
    return left


def _give_by_weight(shares: list[_Share], left: int) -> int:
    open_shares, changed = shares, True
    while left > 0 and changed:
        changed = False
        weights = sum(share.weight for share in open_shares)
        at_start, still_open = left, []
        for share in open_shares:
            if weights <= 0:
                break
            extra = min(-(-at_start * share.weight // weights), left)
            used = min(extra, share.kept)
            share.kept -= used
            extra -= used
            before = share.planned
            wished = before + extra
            if wished > share.limit:
                wished = int(share.limit)
            elif wished <= share.capacity:
                still_open.append(share)
            if wished > share.capacity:
                share.overflow = int(wished - share.capacity)
                wished = int(share.capacity)
            share.planned = wished
            left -= share.planned - before
            changed = changed or used > 0 or share.planned > before
        open_shares = still_open
    return left
