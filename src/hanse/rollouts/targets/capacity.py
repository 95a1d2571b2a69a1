"""Whether a release has the pods that it shall have in a cluster, and if not, what stands in the way."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig, name_of
from hanse.rollouts.door import share_of
from hanse.rollouts.targets.breakdown import SHOWN, breakdown, sad_pods, summary
from hanse.rollouts.targets.statuses import (
    AS_WANTED,
    IN_PROGRESS,
    INTERNAL_ERROR,
    Told,
    Verdict,
    not_operational,
    not_ready,
)

DEPLOYMENT_STUCK = "DeploymentStuck"
PODS_NOT_READY = "PodsNotReady"


def report(total: int, percent: int, deployment: Obj, pods: Sequence[Obj], trouble: str = "") -> Told:
    """Judge a release's Deployment in a cluster; `trouble` is why it could not be brought to what it shall be."""
    desired = share_of(total, percent)
    available = dig(deployment, "status", "availableReplicas", default=0)
    verdict = _in_flight(desired, deployment, trouble)
    facts: Obj = {"availableReplicas": available, "achievedPercent": achieved_percent(total, available)}
    if verdict is None and available == desired:
        verdict = AS_WANTED
    elif verdict is None:
        sad = sad_pods(pods)[:SHOWN]
        verdict = _hindrance(desired, deployment, sad)
        if sad:
            facts["sadPods"] = sad
    return Told(verdict, {**facts, "reports": [breakdown(name_of(deployment), pods)]})


def unreported(message: str) -> Told:
    """Say why nothing is known of a release's pods in a cluster."""
    return Told(not_operational(message), {"availableReplicas": 0, "achievedPercent": 0})


def size_within(target: Obj | None, cluster: str) -> int:
    """Return how many pods a CapacityTarget asks for in a cluster; without one, none."""
    entries = dig(target, "spec", "clusters", default=())
    return sum(
        share_of(entry.get("totalReplicaCount") or 0, entry.get("percent") or 0)
        for entry in entries
        if entry["name"] == cluster
    )


def achieved_percent(total: int, available: int) -> int:
    """Return which percentage of its full size a release has, rounded up; of nothing, none."""
    return -(-available * 100 // total) if total else 0


def _in_flight(desired: int, deployment: Obj, trouble: str) -> Verdict | None:
    """Tell of a Deployment that is yet to be scaled, or whose status is not about its present size."""
    if dig(deployment, "spec", "replicas", default=1) != desired:
        return not_ready(INTERNAL_ERROR, trouble) if trouble else not_ready(IN_PROGRESS)
    generation = dig(deployment, "metadata", "generation", default=0)
    if generation > dig(deployment, "status", "observedGeneration", default=0):
        return not_ready(IN_PROGRESS)
    return None


def _hindrance(desired: int, deployment: Obj, sad: Sequence[Obj]) -> Verdict:
    """Say what the pods wait for, by the word that tells most."""
    conditions = dig(deployment, "status", "conditions", default=[])
    for kind, status in (("ReplicaFailure", "True"), ("Progressing", "False")):
        found = find_condition(conditions, kind) or {}
        if found.get("status") == status:
            return not_ready(DEPLOYMENT_STUCK, found.get("message") or "")
    if sad:
        return not_ready(PODS_NOT_READY, f"{len(sad)}/{desired}: {summary(sad)}")
    return not_ready(IN_PROGRESS)
