"""Where clusters are and how busy they say to be, read from their Cluster objects."""

from __future__ import annotations

import math

from hanse.api.clusters import parse_cluster
from hanse.kube.manifest import Obj, annotations_of
from hanse.services.presence import Place

# On a Cluster: how busy it is, 0 idle and 1 full, written by whoever measures it.
LOAD_ANNOTATION = "hanse.dev/load"


def place_of(obj: Obj) -> Place:
    """Return where a Cluster object says that its cluster is."""
    cluster = parse_cluster(obj)
    return Place(cluster.name, cluster.region, cluster.zones, load_of(obj))


def load_of(obj: Obj) -> float | None:
    """Return how busy a Cluster object says that its cluster is; None where it says nothing that can be understood."""
    try:
        load = float(annotations_of(obj).get(LOAD_ANNOTATION, ""))
    except ValueError:
        return None
    return load if math.isfinite(load) and load >= 0 else None
