"""Which clusters of a rollout go first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hanse.rollouts.environment import Wave
from hanse.rollouts.execution.views import ClusterFacts

_REST = "the rest"


@dataclass(frozen=True, slots=True)
class Group:
    """The clusters of a wave, and how long they must have been well before the next one begins."""

    name: str
    clusters: frozenset[str]
    pause_seconds: float = 0.0


def groups_of(waves: Sequence[Wave], clusters: Iterable[str], facts: Mapping[str, ClusterFacts]) -> tuple[Group, ...]:
    """Divide clusters among waves: each belongs to the first that names it, those that none names come last.

    A wave that says nothing takes what no other one names; waves without a cluster are left out. Without waves all
    clusters go together.
    """
    left = set(clusters)
    taken: dict[int, frozenset[str]] = {}
    for index, wave in enumerate(waves):
        if not _is_rest(wave):
            taken[index] = frozenset(name for name in left if _belongs(wave, name, facts.get(name) or ClusterFacts()))
            left -= taken[index]
    for index, wave in enumerate(waves):
        if _is_rest(wave):
            taken[index], left = frozenset(left), set()
    groups = [
        Group(wave.name or f"{index + 1}", taken[index], wave.pause_seconds)
        for index, wave in enumerate(waves)
        if taken[index]
    ]
    if left or not groups:
        groups.append(Group(_REST, frozenset(left)))
    return tuple(groups)


def _is_rest(wave: Wave) -> bool:
    return not wave.clusters and not wave.regions and wave.selector is None


def _belongs(wave: Wave, name: str, facts: ClusterFacts) -> bool:
    return (
        name in wave.clusters
        or facts.region in wave.regions
        or (wave.selector is not None and wave.selector.matches(facts.labels))
    )
