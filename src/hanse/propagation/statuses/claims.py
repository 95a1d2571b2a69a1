"""PersistentVolumeClaims and PodDisruptionBudgets: what holds in every member holds for the federation."""

from __future__ import annotations

from hanse.kube.conditions import condition, find_condition
from hanse.kube.manifest import Obj, dig
from hanse.propagation.report import Report
from hanse.propagation.statuses.conditions import dated, members_of, observed_generation, propagated

_BUDGET = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")


def claim_status(_source: Obj, report: Report, _now: str) -> Obj:
    """Return the status of a claim: bound when it is in every member that has it, lost when it is in one."""
    members = members_of(report)
    phases = {dig(obj, "status", "phase", default="Pending") for obj in members}
    phase = "Lost" if "Lost" in phases else "Bound" if phases == {"Bound"} and report.settled else "Pending"
    status: Obj = {"phase": phase}
    if phase == "Bound":
        # Volumes may be larger than was asked for; that of the first member stands for them all.
        status |= {name: value for name in ("accessModes", "capacity") if (value := dig(members[0], "status", name))}
    return status


def budget_status(source: Obj, report: Report, now: str) -> Obj:
    """Return the status of a disruption budget: counts are sums, and one member that allows nothing is told."""
    members = members_of(report)
    status: Obj = {name: sum(int(dig(obj, "status", name, default=0)) for obj in members) for name in _BUDGET}
    if generation := observed_generation(source, report):
        status["observedGeneration"] = generation
    fresh = [propagated(report)]
    told = [
        found for obj in members if (found := find_condition(dig(obj, "status", "conditions"), "DisruptionAllowed"))
    ]
    if told:
        worst = next((entry for entry in told if entry.get("status") != "True"), told[0])
        allowed, reason = worst.get("status") == "True", worst.get("reason") or "Unknown"
        fresh.insert(0, condition("DisruptionAllowed", allowed, reason, worst.get("message") or ""))
    status["conditions"] = dated(dig(source, "status", "conditions", default=[]), fresh, now)
    return status
