"""What a PodDisruptionBudget's status says: how many of its pods are healthy, must be, and may be disturbed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import parse_timestamp, timestamp
from hanse.simulator.pods import PodFacts
from hanse.simulator.workloads.rollout import share_of

# An evicted pod that is still there after this long was not evicted after all.
_EVICTED_SECONDS = 120.0


class UnknownScale(Exception):
    """Nobody can say how many pods there should be; the text says why."""


def needs_scale(budget: Obj) -> bool:
    """Tell whether a budget is a share of what the pods' controllers ask for, rather than a number of its own."""
    spec = budget.get("spec") or {}
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def budget_status(budget: Obj, pods: Sequence[PodFacts], scales: Mapping[str, int], now: float) -> Obj:
    """Count the pods that a budget covers; `scales` has the wanted replicas of their controllers by uid."""
    evicted = _evicted(budget, pods, now)
    healthy = sum(1 for pod in pods if pod.ready and not pod.deleting and pod.key.name not in evicted)
    expected, desired = _expectations(budget, pods, scales)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    return _told(
        budget,
        {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            **({"disruptedPods": evicted} if evicted else {}),
        },
        condition("DisruptionAllowed", allowed > 0, "SufficientPods" if allowed > 0 else "InsufficientPods"),
        now,
    )


def unknown_status(budget: Obj, why: str, now: float) -> Obj:
    """Return the status while nothing can be counted: then nothing may be disturbed."""
    before = {key: value for key, value in (budget.get("status") or {}).items() if key != "conditions"}
    counts = {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0, **before, "disruptionsAllowed": 0}
    return _told(budget, counts, condition("DisruptionAllowed", False, "SyncFailed", why), now)


def _told(budget: Obj, counts: Obj, entry: Obj, now: float) -> Obj:
    generation = budget["metadata"].get("generation", 0)
    entry["observedGeneration"] = generation
    conditions: list[Obj] = dig(budget, "status", "conditions", default=[])
    merged = merge_conditions(conditions, [entry], timestamp(now))
    return {**counts, "observedGeneration": generation, "conditions": merged}


def _evicted(budget: Obj, pods: Iterable[PodFacts], now: float) -> dict[str, str]:
    """Return the pods whose eviction was granted and is not seen yet; they are as good as gone."""
    noted: dict[str, str] = dig(budget, "status", "disruptedPods", default={})
    present = {pod.key.name for pod in pods if not pod.deleting}
    return {
        name: since
        for name, since in noted.items()
        if name in present and parse_timestamp(since) + _EVICTED_SECONDS > now
    }


def seconds_to_doubt(budget: Obj, now: float) -> float | None:
    """Return how long an eviction that is noted in a budget is still believed in; None where none is noted."""
    noted: dict[str, str] = dig(budget, "status", "disruptedPods", default={})
    return min((parse_timestamp(since) + _EVICTED_SECONDS - now for since in noted.values()), default=None)


def _expectations(budget: Obj, pods: Sequence[PodFacts], scales: Mapping[str, int]) -> tuple[int, int]:
    """Return how many pods there should be, and how many of them healthy."""
    spec = budget.get("spec") or {}
    if not needs_scale(budget):
        return len(pods), int(spec.get("minAvailable") or 0)
    expected = sum(scales.values())
    if spec.get("maxUnavailable") is not None:
        return expected, max(0, expected - share_of(spec["maxUnavailable"], expected, up=True))
    return expected, share_of(spec["minAvailable"], expected, up=True)
