"""More replicas than were asked for, so that enough are left when clusters are lost."""

from __future__ import annotations

from collections.abc import Callable

from hanse.placement.decision import Decision


def with_spares(replicas: int, spare_clusters: int, decide: Callable[[int], Decision]) -> Decision:
    """Decide for the smallest number of which enough is left without its `spare_clusters` largest shares.

    Where that cannot be had, because there are too few clusters or too little room, the decision says what is missing.
    """
    decision = decide(replicas)
    total = replicas
    while spare_clusters and not decision.unplaced:
        shares = sorted((*decision.replicas.values(), *decision.withheld.values()))
        missing = replicas - sum(shares[: len(shares) - spare_clusters])
        if missing <= 0 or len(shares) <= spare_clusters:
            break
        # Each step adds no more than is surely needed, since a share grows by at most what is added.
        total += missing
        decision = decide(total)
    return decision
