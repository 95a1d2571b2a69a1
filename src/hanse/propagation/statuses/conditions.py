"""The conditions that several kinds share: whether an object is in every cluster, and since when something holds."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.conditions import condition, find_condition
from hanse.kube.manifest import Obj
from hanse.propagation.report import Report


def members_of(report: Report) -> list[Obj]:
    """Return what the clusters that answer have."""
    return [row.observed for row in report.rows if row.live and row.observed is not None]


def propagated(report: Report) -> Obj:
    """Return the condition that says whether every chosen cluster has the object, and what is missing where not."""
    if missing := report.missing:
        reason = "PropagationFailed" if report.trouble else "Waiting"
        return condition("Propagated", False, reason if report.decision.chosen() else "NoClusterChosen", missing)
    return condition("Propagated", True, "InEveryCluster", f"in {', '.join(report.decision.chosen())}")


def dated(old: Sequence[Obj], new: Sequence[Obj], now: str, *, updates: str = "") -> list[Obj]:
    """Give conditions their times: that of the last transition, and in the field `updates` that of any change at all.

    Conditions that nobody brings up to date are gone.
    """
    told = []
    for entry in new:
        before = find_condition(list(old), entry["type"]) or {}
        same_status = before.get("status") == entry["status"]
        same = same_status and all(before.get(name) == entry[name] for name in ("reason", "message"))
        times = {"lastTransitionTime": before.get("lastTransitionTime", now) if same_status else now}
        if updates:
            times[updates] = before.get(updates, now) if same else now
        told.append({**entry, **times})
    return told


def observed_generation(source: Obj, report: Report) -> int:
    """Return the generation that every cluster that answers has, and whose controllers have seen it."""
    old = (source.get("status") or {}).get("observedGeneration", 0)
    return int(source["metadata"].get("generation", 0) if report.settled else old)
