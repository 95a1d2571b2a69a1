"""Which clusters a new release goes to: pure, and for every release of an application the same as long as it can be.

An application prefers clusters in an order of its own, by a hash of its name and theirs, stretched by their weights.
How clusters feel at the moment does not matter: an application must not wander because one was away for a minute.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hanse.api.clusters import Cluster
from hanse.api.names import REGION_LABEL
from hanse.rollouts.environment import Environment
from hanse.rollouts.releases.xxhash import xxhash64

NO_REGIONS = "NoRegionsSpecified"
TOO_FEW = "NotEnoughClustersInRegion"
TOO_FEW_CAPABLE = "NotEnoughCapableClustersInRegion"
DUPLICATE_CAPABILITY = "DuplicateCapabilityRequirement"
_HIGHEST = float((1 << 64) - 1)


@dataclass(frozen=True, slots=True)
class Unscheduled:
    """Why a release has no clusters, or nothing to put there: a reason, and one sentence."""

    reason: str
    message: str


def choose(
    application: str,
    environment: Environment,
    clusters: Sequence[Cluster],
    refused: Mapping[str, str] | None = None,
) -> tuple[str, ...] | Unscheduled:
    """Return the names of the clusters for a release, in order, or why there are none.

    `refused` are those that the application's author may not use.
    """
    if not environment.regions:
        return Unscheduled(NO_REGIONS, "clusterRequirements.regions is empty; name at least one region")
    counts = Counter(environment.capabilities)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        return Unscheduled(
            DUPLICATE_CAPABILITY,
            f"clusterRequirements.capabilities names {', '.join(twice)} more than once; name each one once",
        )
    preferred = preference(application, clusters)
    wanted = {region.name: region.count for region in environment.regions}
    found: set[str] = set()
    for region, count in wanted.items():
        chosen = _of_region(region, count, environment.capabilities, preferred, refused or {})
        if isinstance(chosen, Unscheduled):
            return chosen
        found.update(chosen)
    if not found:
        return Unscheduled(
            NO_REGIONS, "no region asks for a cluster; give one of clusterRequirements.regions replicas of at least 1"
        )
    return tuple(sorted(found))


def preference(application: str, clusters: Sequence[Cluster]) -> list[Cluster]:
    """Return clusters in the order in which an application prefers them; those of weight 0 are last."""
    return sorted(clusters, key=lambda each: (-_score(application, each), each.name))


def region_of(cluster: Cluster) -> str:
    """Return the region that a cluster is said to be in, or else that its nodes say."""
    return cluster.labels.get(REGION_LABEL) or cluster.region


def _score(application: str, cluster: Cluster) -> float:
    hashed = xxhash64((application + (cluster.rollout_identity or cluster.name)).encode())
    return -cluster.rollout_weight * math.log(max(hashed, 1) / _HIGHEST)


def _of_region(
    region: str, count: int, capabilities: tuple[str, ...], preferred: list[Cluster], refused: Mapping[str, str]
) -> list[str] | Unscheduled:
    within = [cluster for cluster in preferred if region_of(cluster) == region]
    passed_over = {cluster.name: why for cluster in within if (why := _why_not(cluster, refused))}
    usable = [cluster for cluster in within if cluster.name not in passed_over]
    capable = [cluster for cluster in usable if cluster.capabilities.issuperset(capabilities)]
    if len(usable) < count:
        text = f'Not enough clusters in region "{region}". Required: {count} / Available: {len(usable)}'
        return Unscheduled(TOO_FEW, text + _told(passed_over))
    if len(capable) < count:
        asked = ", ".join(capabilities)
        text = f'Not enough clusters in region "{region}" with the capabilities {asked}. Required: {count}'
        return Unscheduled(TOO_FEW_CAPABLE, f"{text} / Available: {len(capable)}" + _told(passed_over))
    return [cluster.name for cluster in capable[: max(0, count)]]


def _why_not(cluster: Cluster, refused: Mapping[str, str]) -> str:
    """Return why a cluster is not chosen, whatever is asked for; "" where it may be."""
    if cluster.leaving:
        return "is leaving"
    if cluster.pull:
        return "fetches its work, where traffic cannot be led by labels of pods"
    if cluster.unschedulable:
        return "is unschedulable"
    if cluster.taints:
        return "is tainted"
    if not cluster.was_reached:
        return "was never reached"
    return "may not be used by the author" if cluster.name in refused else ""


def _told(passed_over: Mapping[str, str]) -> str:
    """Return what is said of the clusters that were not counted."""
    if not passed_over:
        return ""
    by_why: dict[str, list[str]] = {}
    for name, why in sorted(passed_over.items()):
        by_why.setdefault(why, []).append(name)
    reasons = "; ".join(f"{', '.join(names)} {why}" for why, names in by_why.items())
    return f" ({len(passed_over)} not counted: {reasons})"
