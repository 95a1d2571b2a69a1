"""Whole replicas in proportion to weights, by the divisor method of Webster and Sainte-Laguë.

The next replica always goes to the cluster with the greatest weight / (2·replicas + 1) that is not full. Hence the
division is stable: with one replica more nobody has less, a cluster that is lost leaves the others at least what they
had, and one that joins takes no more than its own share. Equal claims go by a rank that the caller gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heapreplace


def apportion(
    total: int, weights: Sequence[int], ranks: Sequence[int], limits: Sequence[int | None] | None = None
) -> list[int]:
    """Return how many of `total` each place gets; fewer in all where the limits do not let them in."""
    caps = [_cap(limits[place] if limits else None, total) for place in range(len(weights))]
    counts, left = _quotas(total, weights, caps)
    if left > 0:
        _one_by_one(left, weights, ranks, caps, counts)
    return counts


def _cap(limit: int | None, total: int) -> int:
    return total if limit is None else max(0, min(limit, total))


def _quotas(total: int, weights: Sequence[int], caps: Sequence[int]) -> tuple[list[int], int]:
    """Give at once what everybody is sure to get, so that few replicas are left to be given one by one.

    Rounding the quotas of a total that is smaller by half a replica for each place gives what the method gives for
    some total that is not greater than the one asked for. Full places keep what they have and leave the rest to the
    others, and then the same holds for those.
    """
    counts = [0] * len(weights)
    open_places = [place for place, weight in enumerate(weights) if weight > 0 and caps[place] > 0]
    left = total
    while open_places:
        surely, sum_of_weights = left - len(open_places) // 2 - 1, sum(weights[place] for place in open_places)
        if surely <= 0:
            break
        quotas = [(2 * weights[place] * surely + sum_of_weights) // (2 * sum_of_weights) for place in open_places]
        full = [place for place, quota in zip(open_places, quotas, strict=True) if quota >= caps[place]]
        if not full:
            for place, quota in zip(open_places, quotas, strict=True):
                counts[place] = quota
            return counts, left - sum(quotas)
        for place in full:
            counts[place] = caps[place]
            left -= caps[place]
        filled = set(full)
        open_places = [place for place in open_places if place not in filled]
    return counts, left


def _one_by_one(
    left: int, weights: Sequence[int], ranks: Sequence[int], caps: Sequence[int], counts: list[int]
) -> None:
    claims = [
        (-weight / (2 * counts[place] + 1), ranks[place], place)
        for place, weight in enumerate(weights)
        if weight > 0 and counts[place] < caps[place]
    ]
    heapify(claims)
    while left > 0 and claims:
        _, rank, place = claims[0]
        counts[place] += 1
        left -= 1
        if counts[place] < caps[place]:
            heapreplace(claims, (-weights[place] / (2 * counts[place] + 1), rank, place))
        else:
            heappop(claims)
