"""`ReplicaSchedulingPreference` in each of its groups, read into a plain value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hanse.api.kubefed.objects import FieldProblem
from hanse.api.kubefed.preferences import TARGET_KINDS
from hanse.kube.manifest import Obj, dig


@dataclass(frozen=True, slots=True)
class ClusterPreference:
    """What one cluster should hold of a workload."""

    weight: int = 0
    min_replicas: int = 0
    max_replicas: int | None = None


@dataclass(frozen=True, slots=True)
class SchedulingPreference:
    """How many replicas a federated workload has in all, and how they divide."""

    target_kind: str
    total_replicas: int
    clusters: Mapping[str, ClusterPreference] = field(default_factory=dict)
    rebalance: bool = False
    intersect: bool = False


def read_scheduling_preference(obj: Obj) -> SchedulingPreference | FieldProblem:
    """Read a preference; without clusters every cluster has the same weight."""
    spec = dig(obj, "spec", default={})
    kind = dig(spec, "targetKind", default="")
    if kind not in TARGET_KINDS:
        return FieldProblem("spec.targetKind", f"must be {' or '.join(TARGET_KINDS)}, not {kind or 'empty'}")
    total = _count(spec.get("totalReplicas"), "spec.totalReplicas")
    if isinstance(total, FieldProblem):
        return total
    clusters = _clusters(spec.get("clusters") or {"*": {"weight": 1}})
    if isinstance(clusters, FieldProblem):
        return clusters
    return SchedulingPreference(
        kind,
        total,
        clusters,
        rebalance=spec.get("rebalance") is True,
        intersect=spec.get("intersectWithClusterSelector") is True,
    )


def _clusters(entries: Any) -> dict[str, ClusterPreference] | FieldProblem:
    if not isinstance(entries, dict):
        return FieldProblem("spec.clusters", "must map names of clusters, or *, to their preferences")
    found = {}
    for name, entry in entries.items():
        where = f"spec.clusters[{name}]"
        fields = entry if entry is not None else {}
        if not isinstance(fields, dict):
            return FieldProblem(where, "must be an object with weight, minReplicas and maxReplicas")
        numbers: dict[str, int | None] = {"maxReplicas": None}
        for each in ("weight", "minReplicas", "maxReplicas"):
            if fields.get(each) is not None:
                number = _count(fields[each], f"{where}.{each}")
                if isinstance(number, FieldProblem):
                    return number
                numbers[each] = number
        found[name] = ClusterPreference(
            numbers.get("weight") or 0, numbers.get("minReplicas") or 0, numbers["maxReplicas"]
        )
    return found


def _count(value: Any, where: str) -> int | FieldProblem:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return FieldProblem(where, f"must be a whole number that is not negative, not {value!r}")
    return value
