"""Horizontal pod autoscalers over many clusters: limits that add up, moved to where they are needed.

Each member has an autoscaler of its own with a part of the federation's limits: the maxima add up to the federation's,
the minima to at least as much, and no member has a minimum below one. A member that idles gives up room, one replica
at a time, to a member that stands at its limit or has none yet. What federation v1 did, without its endless loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FORBIDDEN_WINDOW_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What one autoscaler may do."""

    min_replicas: int
    max_replicas: int


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """A member's autoscaler as it was seen; `scaled_at` is None as long as it has never scaled."""

    min_replicas: int
    max_replicas: int
    current: int = 0
    desired: int = 0
    scaled_at: float | None = None


@dataclass(slots=True)
class _Row:
    name: str
    seen: Autoscaler | None
    low: int = 0
    high: int = 0
    gives_high: bool = False
    gives_low: bool = False
    wants_high: bool = False
    wants_low: bool = False


@dataclass(slots=True)
class _Pool:
    """What is still to be given, and who gives up one each."""

    left: int
    givers: list[_Row] = field(default_factory=list)


def with_headroom(asked: Limits, clusters: int, spare_clusters: int) -> Limits:
    """Return the limits of which, evenly divided, enough is left without `spare_clusters` of the clusters.

    Where there are no more clusters than that, nothing can be spared and the limits stay.
    """
    left = clusters - spare_clusters
    if not spare_clusters or left < 1:
        return asked
    return Limits(-(-asked.min_replicas // left) * clusters, -(-asked.max_replicas // left) * clusters)


def divide_autoscaler(
    asked: Limits, clusters: Sequence[str], seen: Mapping[str, Autoscaler], *, now: float
) -> dict[str, Limits]:
    """Return each cluster's limits; a cluster without an entry shall have no autoscaler.

    Raises ValueError where the limits make no sense.
    """
    if asked.min_replicas < 0 or asked.max_replicas < 1:
        raise ValueError("spec.minReplicas must not be negative, and spec.maxReplicas must be at least 1")
    if asked.min_replicas > asked.max_replicas:
        raise ValueError(f"spec.minReplicas {asked.min_replicas} must not exceed spec.maxReplicas {asked.max_replicas}")
    rows = [_row(name, seen.get(name), now) for name in sorted(set(clusters))]
    if not rows:
        return {}
    _reduce(rows, asked)
    _give_high(rows, asked.max_replicas)
    _give_low(rows, asked.min_replicas)
    return {row.name: Limits(max(1, row.low), row.high) for row in rows if row.high > 0}


def _row(name: str, seen: Autoscaler | None, now: float) -> _Row:
    if seen is None:
        return _Row(name, None)
    pristine = seen.scaled_at is None and seen.desired == 0
    settled = seen.scaled_at is not None and now - seen.scaled_at > FORBIDDEN_WINDOW_SECONDS
    low, high, current, desired = seen.min_replicas, seen.max_replicas, seen.current, seen.desired
    idle = settled and (desired < current or desired == current < high)
    return _Row(
        name,
        seen,
        low,
        high,
        gives_high=high - 1 >= low and (pristine or idle),
        gives_low=1 < low <= high and (pristine or (settled and desired == current == low)),
        wants_high=settled and current == desired == high,
        wants_low=settled and low < high and desired > low,
    )


def _reduce(rows: list[_Row], asked: Limits) -> None:
    """Take away what exceeds the federation's limits: from those who can spare it, then from everybody in turn."""
    surplus = sum(row.low for row in rows) - asked.min_replicas
    for row in rows:
        if surplus > 0 and row.gives_low:
            row.low, row.gives_low, surplus = row.low - 1, False, surplus - 1
    while surplus > 0 and any(row.low > 1 for row in rows):
        for row in rows:
            if surplus > 0 and row.low > 1:
                row.low, surplus = row.low - 1, surplus - 1
    surplus = sum(row.high for row in rows) - asked.max_replicas
    for row in rows:
        if surplus > 0 and row.gives_high:
            row.high, row.gives_high, surplus = row.high - 1, False, surplus - 1
    while surplus > 0:
        for row in rows:
            if surplus > 0 and row.high > 0:
                row.high, surplus = row.high - 1, surplus - 1
                row.low = min(row.low, row.high)


def _give_high(rows: list[_Row], target: int) -> None:
    pool = _Pool(target - sum(row.high for row in rows), [row for row in rows if row.gives_high])
    for row in rows:
        if row.wants_high and pool.givers:
            pool.givers.pop(0).high -= 1
            row.high += 1
    step = max(2, target // len(rows))
    newcomers = [row for row in rows if row.seen is None]
    while pool.left + len(pool.givers) > 0 and newcomers:
        # A giver hands over one replica to each newcomer; only then is the free rest given in whole steps.
        for row in newcomers:
            _high_for(row, pool, step)
    while pool.left > 0:
        for row in rows:
            more = min(pool.left, step)
            row.high, pool.left = row.high + more, pool.left - more


def _high_for(row: _Row, pool: _Pool, step: int) -> None:
    if pool.givers:
        pool.givers.pop(0).high -= 1
        row.high += 1
    elif pool.left > 0:
        more = min(pool.left, step)
        row.high, pool.left = row.high + more, pool.left - more


def _give_low(rows: list[_Row], target: int) -> None:
    pool = _Pool(target - sum(row.low for row in rows), [row for row in rows if row.gives_low])
    for row in rows:
        if row.wants_low and pool.givers and row.low < row.high:
            pool.givers.pop(0).low -= 1
            row.low += 1
    step = max(1, target // len(rows))
    newcomers = [row for row in rows if row.seen is None and row.high > 0]
    moved = True
    while pool.left > 0 and moved:
        # Never beyond a row's own maximum: the sum of the maxima is enough, so this comes to an end.
        moved = False
        for row in newcomers or [row for row in rows if row.high > 0]:
            more = min(pool.left, step, row.high - row.low)
            if more > 0:
                row.low, pool.left, moved = row.low + more, pool.left - more, True
        newcomers = [row for row in newcomers if row.low < row.high]
        moved = moved or bool(newcomers)
