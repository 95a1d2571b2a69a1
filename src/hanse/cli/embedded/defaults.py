"""The three clusters that `hanse up` starts when nobody says otherwise."""

from __future__ import annotations

from typing import Any

DEFAULT_CLUSTERS: list[dict[str, Any]] = [
    {"name": "us-east", "region": "us-east", "zone": "us-east-a", "labels": {"continent": "america"}, "nodes": 3},
    {"name": "eu-west", "region": "eu-west", "zone": "eu-west-a", "labels": {"continent": "europe"}, "nodes": 3},
    {"name": "ap-south", "region": "ap-south", "zone": "ap-south-a", "labels": {"continent": "asia"}, "nodes": 3},
]
