"""What the registry says of clusters, as placement wants to know it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from hanse.api.clusters import Cluster
from hanse.api.names import REGION_LABEL, ZONE_LABEL
from hanse.placement.amounts import thousandths
from hanse.placement.candidate import Candidate, Effect, Taint
from hanse.placement.fleet import Fleet

# Cluster API and the cloud providers' own tools label what a cluster runs on; there is no label of Kubernetes for it.
PROVIDER_LABEL = "hanse.dev/provider"
# A cluster that is ready for the first time was registered no longer ago than this.
_JOINING_SECONDS = 30.0


class ClusterIndex:
    """Keeps the clusters indexed between two decisions; a cluster that has not changed costs a comparison."""

    def __init__(self) -> None:
        self._clusters: Sequence[Cluster] | None = None
        self._fleet = Fleet()

    def of(self, clusters: Sequence[Cluster]) -> Fleet:
        """Return the index of these clusters."""
        if clusters is self._clusters:
            return self._fleet
        if [cluster.name for cluster in clusters] != self._fleet.names:
            self._fleet = Fleet(map(candidate_of, clusters))
        else:
            for cluster in clusters:
                self._fleet.put(candidate_of(cluster))
        self._clusters = clusters
        return self._fleet


def candidate_of(cluster: Cluster) -> Candidate:
    """Return a registered cluster as placement sees it."""
    zone = cluster.labels.get(ZONE_LABEL, "")
    return Candidate(
        name=cluster.name,
        labels=cluster.labels,
        refusal=cluster.refusal,
        refused_since=seconds_of(cluster.refused_since),
        returned=_returned(cluster),
        cordoned=cluster.unschedulable or cluster.leaving,
        taints=tuple(
            Taint(taint.key, taint.value, cast(Effect, taint.effect), seconds_of(taint.time_added))
            for taint in cluster.taints
        ),
        provider=cluster.labels.get(PROVIDER_LABEL, ""),
        region=cluster.region or cluster.labels.get(REGION_LABEL, ""),
        zones=cluster.zones or ((zone,) if zone else ()),
        capacity=thousandths(cluster.capacity) if cluster.capacity else None,
        free=thousandths(cluster.free) if cluster.free else None,
    )


def _returned(cluster: Cluster) -> float | None:
    """Return when a cluster came back from having been lost, None for one that never was.

    The condition tells only of the last change; what became ready long after it had joined was lost before.
    """
    became_ready, created = seconds_of(cluster.refused_since), seconds_of(cluster.created)
    if cluster.refusal or became_ready is None or created is None or became_ready - created < _JOINING_SECONDS:
        return None
    return became_ready


def seconds_of(timestamp: str) -> float | None:
    """Return a timestamp of the API in seconds of the epoch, None where it is none."""
    try:
        return datetime.fromisoformat(timestamp).timestamp() if timestamp else None
    except ValueError:
        return None
