"""The federation's status of an object, in its kind's own shape, out of what the members report.

Only members that answer are counted. `observedGeneration` moves when every one of them has the present rendering and
has seen it, so that `kubectl rollout status` and `kubectl wait` mean on the federation what they mean on a cluster.
"""

from __future__ import annotations

from hanse.kube.conditions import condition, find_condition
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import DEPLOYMENTS, SERVICES, Resource
from hanse.propagation.report import Report

_DEPLOYMENT_COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")


def aggregate(resource: Resource, source: Obj, report: Report, now: str) -> Obj | None:
    """Return the whole new status, None for kinds that have none."""
    if resource == DEPLOYMENTS:
        return _deployment(source, report, now)
    if resource == SERVICES:
        return _service(source, report)
    return None


def _deployment(source: Obj, report: Report, now: str) -> Obj:
    old = source.get("status") or {}
    members = [row.observed for row in report.rows if row.live and row.observed is not None]
    counts = {name: sum(dig(obj, "status", name, default=0) for obj in members) for name in _DEPLOYMENT_COUNTS}
    # Duplicated work, and what a full cluster is asked for beyond its share, is more than the source says.
    wanted = max(dig(source, "spec", "replicas", default=1), sum(report.decision.replicas.values()))
    unavailable = max(0, max(wanted, counts["replicas"]) - counts["availableReplicas"])
    observed = source["metadata"].get("generation", 0) if report.settled else old.get("observedGeneration", 0)
    status: Obj = {name: value for name, value in counts.items() if value}
    if unavailable:
        status["unavailableReplicas"] = unavailable
    if observed:
        status["observedGeneration"] = observed
    fresh = _deployment_conditions(report, members, counts, wanted)
    status["conditions"] = _dated(old.get("conditions") or [], fresh, now)
    return status


def _deployment_conditions(report: Report, members: list[Obj], counts: dict[str, int], wanted: int) -> list[Obj]:
    enough = counts["availableReplicas"] >= wanted
    if enough:
        available = condition("Available", True, "MinimumReplicasAvailable", "Federation has minimum availability.")
    else:
        text = f"{counts['availableReplicas']} of {wanted} replicas are available over all clusters."
        available = condition("Available", False, "MinimumReplicasUnavailable", text)
    return [available, _progressing(report, members, counts, wanted), _propagated(report)]


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


def _propagated(report: Report) -> Obj:
    if missing := report.missing:
        reason = "PropagationFailed" if report.trouble else "Waiting"
        return condition("Propagated", False, reason if report.decision.chosen() else "NoClusterChosen", missing)
    return condition("Propagated", True, "InEveryCluster", f"in {', '.join(report.decision.chosen())}")


def _dated(old: list[Obj], new: list[Obj], now: str) -> list[Obj]:
    """Give conditions the two times that a Deployment's have: of the status, and of any change at all."""
    dated = []
    for entry in new:
        before = find_condition(old, entry["type"])
        if before is None:
            dated.append({**entry, "lastUpdateTime": now, "lastTransitionTime": now})
            continue
        same_status = before.get("status") == entry["status"]
        same = same_status and all(before.get(name) == entry[name] for name in ("reason", "message"))
        dated.append(
            {
                **entry,
                "lastUpdateTime": before.get("lastUpdateTime", now) if same else now,
                "lastTransitionTime": before.get("lastTransitionTime", now) if same_status else now,
            }
        )
    return dated


def _service(source: Obj, report: Report) -> Obj:
    addresses = [
        entry
        for row in report.rows
        if row.live and row.observed is not None and dig(source, "spec", "type") == "LoadBalancer"
        for entry in dig(row.observed, "status", "loadBalancer", "ingress", default=[])
    ]
    addresses = [entry for place, entry in enumerate(addresses) if entry not in addresses[:place]]
    addresses.sort(key=lambda entry: (entry.get("ip") or "", entry.get("hostname") or ""))
    status = {name: value for name, value in (source.get("status") or {}).items() if name != "loadBalancer"}
    status["loadBalancer"] = {"ingress": addresses} if addresses else {}
    return status
