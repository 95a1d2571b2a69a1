"""Jobs over many clusters: parallelism and completions, each divided by the same rules.

Federation v1 let minima and maxima of the preferences bound completions as well, so that a Job could fall short of
them; here they bound parallelism only, and completions follow the clusters that run something.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from hanse.placement.apportionment import apportion
from hanse.placement.hashing import fnv1_32
from hanse.placement.planner import Preference, Preferences, plan_replicas

Divide = Callable[[int, Collection[str]], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class JobShare:
    """What one cluster's Job asks for; `completions` is None where the Job says nothing about them."""

    parallelism: int
    completions: int | None


def divide_job(
    parallelism: int,
    completions: int | None,
    clusters: Collection[str],
    preferences: Preferences | None = None,
    *,
    key: str,
) -> dict[str, JobShare]:
    """Divide a Job by federation v1's planner; a cluster without parallelism gets no Job at all."""
    asked = preferences or Preferences({"*": Preference(weight=1)})
    running = plan_replicas(parallelism, clusters, asked, key=key).replicas
    busy = [name for name, count in running.items() if count > 0]
    if completions is None:
        return {name: JobShare(running[name], None) for name in busy}
    weights = {name: Preference(weight=_weight(asked, name)) for name in busy}
    finished = plan_replicas(completions, busy, Preferences(weights, rebalance=True), key=key).replicas
    return {name: JobShare(running[name], finished[name]) for name in busy}


def completions_for(completions: int, parallelism: Mapping[str, int], *, key: str) -> dict[str, int]:
    """Divide completions in proportion to the parallelism that some other division gave."""
    names = sorted(name for name, count in parallelism.items() if count > 0)
    ranks = [fnv1_32((name + key).encode()) for name in names]
    counts = apportion(completions, [parallelism[name] for name in names], ranks)
    return dict(zip(names, counts, strict=True))


def _weight(preferences: Preferences, cluster: str) -> int:
    # A cluster that runs only because of its minimum works off its part of the completions like the others.
    preference = preferences.of(cluster)
    return max(1, preference.weight) if preference is not None else 0
