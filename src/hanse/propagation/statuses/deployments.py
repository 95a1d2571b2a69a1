"""Deployments: sums, and conditions by which `kubectl rollout status` and `kubectl wait` mean the whole federation."""

from __future__ import annotations

from hanse.api.names import AUTOSCALED_ANNOTATION
from hanse.kube.conditions import condition, find_condition
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.propagation.report import Report
from hanse.propagation.scale import WORKLOAD
from hanse.propagation.statuses.conditions import dated, members_of, observed_generation, propagated

_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")


def deployment_status(source: Obj, report: Report, now: str) -> Obj:
    """Return the status of a Deployment."""
    old = source.get("status") or {}
    members = members_of(report)
    counts = {name: sum(dig(obj, "status", name, default=0) for obj in members) for name in _COUNTS}
    # What waits for room in a full cluster runs elsewhere: a rollout that is over must not wait for it.
    surplus = min(sum(report.decision.overflow.values()), max(0, counts["replicas"] - counts["availableReplicas"]))
    counts |= {name: max(0, counts[name] - surplus) for name in ("replicas", "updatedReplicas")}
    wanted = _wanted(source, report, members)
    unavailable = max(0, max(wanted, counts["replicas"]) - counts["availableReplicas"])
    status: Obj = {name: value for name, value in counts.items() if value}
    if unavailable:
        status["unavailableReplicas"] = unavailable
    if observed := observed_generation(source, report):
        status["observedGeneration"] = observed
    fresh = _conditions(report, members, counts, wanted)
    status["conditions"] = dated(old.get("conditions") or [], fresh, now, updates="lastUpdateTime")
    return status


def _wanted(source: Obj, report: Report, members: list[Obj]) -> int:
    if AUTOSCALED_ANNOTATION in annotations_of(source):
        # What the source says is not what its autoscalers want.
        return sum(WORKLOAD.asked(obj) for obj in members)
    # Duplicated work is more than the source says.
    placed = sum(report.decision.replicas.values()) - sum(report.decision.overflow.values())
    return max(int(dig(source, "spec", "replicas", default=1)), placed)


def _conditions(report: Report, members: list[Obj], counts: dict[str, int], wanted: int) -> list[Obj]:
    enough = counts["availableReplicas"] >= wanted
    if enough:
        available = condition("Available", True, "MinimumReplicasAvailable", "Federation has minimum availability.")
    else:
        text = f"{counts['availableReplicas']} of {wanted} replicas are available over all clusters."
        available = condition("Available", False, "MinimumReplicasUnavailable", text)
    return [available, _progressing(report, members, counts, wanted), propagated(report)]


def _progressing(report: Report, members: list[Obj], counts: dict[str, int], wanted: int) -> Obj:
    stuck = [
        row.cluster
        for row in report.rows
        if row.live
        and (found := find_condition(dig(row.observed, "status", "conditions"), "Progressing"))
        and found.get("reason") == "ProgressDeadlineExceeded"
    ]
    if stuck:
        text = f"The rollout makes no progress in {', '.join(stuck)}."
        return condition("Progressing", False, "ProgressDeadlineExceeded", text)
    complete = report.settled and counts["updatedReplicas"] == counts["replicas"] == wanted and members
    if complete and counts["availableReplicas"] >= wanted:
        return condition("Progressing", True, "NewReplicaSetAvailable", "The rollout is complete in every cluster.")
    return condition("Progressing", True, "ReplicaSetUpdated", "The rollout is under way.")
