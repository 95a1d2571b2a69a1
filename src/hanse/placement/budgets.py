"""Disruption budgets over many clusters: a number of pods divides by the pods that each cluster has.

Clusters evict without asking each other, so each may take only its own part. The parts of what must stay available add
up to what was asked for. Of what may be unavailable every cluster that has pods gets at least one, since a part of
none would hold up each drain of a node there for ever.
"""

from __future__ import annotations

from collections.abc import Mapping

from hanse.placement.apportionment import apportion


def divide_min_available(number: int, pods: Mapping[str, int]) -> dict[str, int]:
    """Return how many pods each cluster shall keep available; one without pods has the whole number, to be safe."""
    parts = _apportioned(min(number, sum(pods.values())), pods, limited=True)
    return {name: parts[name] if count else number for name, count in pods.items()}


def divide_max_unavailable(number: int, pods: Mapping[str, int]) -> dict[str, int]:
    """Return how many pods of each cluster may be unavailable."""
    parts = _apportioned(number, pods, limited=False)
    return {name: max(parts[name], min(1, number)) for name in pods}


def near_enough(held: Mapping[str, int], parts: Mapping[str, int], pods: Mapping[str, int]) -> bool:
    """Tell whether parts that clusters have may stay: as much in all, and nobody's is far off.

    Pods come and go while a workload is rolled out, which is no reason to write budgets again and again.
    """
    with_pods = [name for name, count in pods.items() if count]
    return (
        held.keys() == parts.keys()
        and sum(held[name] for name in with_pods) == sum(parts[name] for name in with_pods)
        and all(abs(held[name] - parts[name]) <= 1 and held[name] <= max(pods[name], parts[name]) for name in with_pods)
        and all(held[name] == parts[name] for name in parts if not pods[name])
    )


def _apportioned(number: int, pods: Mapping[str, int], *, limited: bool) -> dict[str, int]:
    names = sorted(pods)
    counts = [pods[name] for name in names]
    given = apportion(number, counts, range(len(names)), counts if limited else None)
    return dict(zip(names, given, strict=True))
