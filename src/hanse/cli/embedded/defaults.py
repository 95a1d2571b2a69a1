"""What `hanse up` starts with when nobody says otherwise: three clusters, and the doors that are open."""

from __future__ import annotations

from typing import Any

from hanse.api.admiralty.keys import PODS_DOOR
from hanse.api.metacontroller.kinds import COMPOSITES_DOOR
from hanse.api.planetscale.kinds import VITESS_DOOR

DEFAULT_CLUSTERS: list[dict[str, Any]] = [
    {"name": "us-east", "region": "us-east", "zone": "us-east-a", "labels": {"continent": "america"}, "nodes": 3},
    {"name": "eu-west", "region": "eu-west", "zone": "eu-west-a", "labels": {"continent": "europe"}, "nodes": 3},
    {"name": "ap-south", "region": "ap-south", "zone": "ap-south-a", "labels": {"continent": "asia"}, "nodes": 3},
]

# Whoever sends pods elsewhere follows every cluster that may run them: with all doors open, costs grow with the square
# of the clusters.
LARGEST_MESH = 16


def doors_at_first(clusters: int) -> tuple[str, ...]:
    """Return the doors that are open in every cluster of a new federation: all of them on a laptop."""
    every = (COMPOSITES_DOOR, PODS_DOOR, VITESS_DOOR)
    return every if clusters <= LARGEST_MESH else tuple(door for door in every if door != PODS_DOOR)
