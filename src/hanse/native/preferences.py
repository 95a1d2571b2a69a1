"""The annotations of federation v1: where an object goes and how its replicas divide."""

from __future__ import annotations

from typing import Any

import orjson

from hanse.placement.cluster_selector import ClusterSelector, SelectorError
from hanse.placement.planner import Preference, Preferences


def parse_selector(text: str | None) -> ClusterSelector:
    """Read a cluster-selector annotation; without one every cluster is selected. Raises SelectorError."""
    if text is None:
        return ClusterSelector()
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SelectorError("must be a JSON list of requirements") from error
    return ClusterSelector.parse(document)


def parse_preferences(text: str | None) -> Preferences | None:
    """Read a preferences annotation; None without one. Raises ValueError with a sentence."""
    if text is None:
        return None
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError("must be JSON") from error
    if not isinstance(document, dict):
        raise ValueError("must be a JSON object")  # noqa: TRY004 - it is the user's text that is wrong
    fields = _lowered(document, "", ("rebalance", "clusters"))
    clusters = fields.get("clusters") or {}
    if not isinstance(clusters, dict):
        raise ValueError("clusters must be a JSON object")  # noqa: TRY004
    rebalance = fields.get("rebalance", False)
    if not isinstance(rebalance, bool):
        raise ValueError("rebalance must be true or false")  # noqa: TRY004
    return Preferences({name: _preference(name, entry) for name, entry in clusters.items()}, rebalance)


def _preference(cluster: str, entry: Any) -> Preference:
    if not isinstance(entry, dict):
        raise ValueError(f"clusters[{cluster}] must be a JSON object")  # noqa: TRY004
    fields = _lowered(entry, f"clusters[{cluster}].", ("weight", "minReplicas", "maxReplicas"))
    limit = fields.get("maxreplicas")
    preference = Preference(
        weight=_integer(fields.get("weight", 0), f"clusters[{cluster}].weight"),
        min_replicas=_integer(fields.get("minreplicas", 0), f"clusters[{cluster}].minReplicas"),
        max_replicas=None if limit is None else _integer(limit, f"clusters[{cluster}].maxReplicas"),
    )
    if preference.max_replicas is not None and preference.min_replicas > preference.max_replicas:
        # The original gave such a minimum in full and cut off everything else, which nobody can have meant.
        raise ValueError(
            f"clusters[{cluster}].minReplicas {preference.min_replicas} must not exceed maxReplicas {limit}"
        )
    return preference


def _integer(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{where} must be a whole number, not {value!r}")  # noqa: TRY004
    if value < 0:
        raise ValueError(f"{where} must not be negative, it is {value}")
    return value


def _lowered(document: dict[str, Any], where: str, known: tuple[str, ...]) -> dict[str, Any]:
    # The original decoder matched field names whatever their case. It also ignored what it did not know, and a
    # misspelt weight took a workload to nothing: that is refused here, and what runs stays (decision 6).
    for name in document:
        if name.lower() not in {each.lower() for each in known}:
            raise ValueError(f"{where}{name} is not a field; known are {', '.join(known)}")
    return {name.lower(): value for name, value in document.items()}
