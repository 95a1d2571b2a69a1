"""Decides which pods a ReplicaSet makes, takes over, lets go and removes; and what its status says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from hanse.kube.conditions import condition, find_condition
from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.selectors import LabelSelector
from hanse.simulator.pods import PodFacts

# What one look at a ReplicaSet may create or delete at most, as upstream.
BURST_REPLICAS = 500

_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}


@dataclass(frozen=True, slots=True)
class ReplicaPlan:
    """What is to be done so that the right number of pods exists."""

    active: tuple[PodFacts, ...] = ()
    terminating: int = 0
    adopt: tuple[PodFacts, ...] = ()
    release: tuple[PodFacts, ...] = ()
    delete: tuple[PodFacts, ...] = ()
    create: int = 0


def plan_replicas(
    replica_set: Obj,
    *,
    owned: Iterable[PodFacts],
    orphans: Iterable[PodFacts] = (),
    coming: Collection[Key] = (),
    leaving: Collection[Key] = (),
) -> ReplicaPlan:
    """Compare the pods of a ReplicaSet with what it asks for; what is coming or leaving counts as done."""
    selector = selector_of(replica_set)
    deleting = bool(replica_set["metadata"].get("deletionTimestamp"))
    mine = list(owned)
    released = tuple(pod for pod in mine if not selector.matches(pod.labels) and not pod.deleting)
    kept = [pod for pod in mine if selector.matches(pod.labels)]
    adopted = () if deleting else tuple(pod for pod in orphans if pod.active and selector.matches(pod.labels))
    active = [pod for pod in (*kept, *adopted) if pod.active and pod.key not in leaving]
    terminating = sum(1 for pod in kept if not pod.finished and (pod.deleting or pod.key in leaving))
    if deleting:
        return ReplicaPlan(active=tuple(active), terminating=terminating, release=released)
    unseen = len(set(coming) - {pod.key for pod in active})
    surplus = len(active) + unseen - wanted_replicas(replica_set)
    return ReplicaPlan(
        active=tuple(active),
        terminating=terminating,
        adopt=adopted,
        release=released,
        delete=tuple(removal_order(active)[: min(surplus, BURST_REPLICAS)]) if surplus > 0 else (),
        create=min(-surplus, BURST_REPLICAS) if surplus < 0 else 0,
    )


def selector_of(workload: Obj) -> LabelSelector:
    """Return which pods are a workload's; a ReplicationController's selector is a plain set of labels."""
    selector = dig(workload, "spec", "selector")
    if workload.get("kind") == "ReplicationController":
        return LabelSelector.from_labels(selector or {})
    return LabelSelector.from_object(selector)


def wanted_replicas(workload: Obj) -> int:
    """Return how many replicas a workload asks for; one where it does not say."""
    return int(dig(workload, "spec", "replicas", default=1))


def removal_order(pods: Iterable[PodFacts]) -> list[PodFacts]:
    """Order pods as they are removed on scaling down: those that are missed least come first."""
    pods = list(pods)
    on_node = Counter(pod.node for pod in pods)

    def rank(pod: PodFacts) -> tuple[object, ...]:
        return (
            pod.node != "",
            _PHASE_ORDER.get(pod.phase, 1),
            pod.ready,
            pod.deletion_cost,
            -on_node[pod.node],
            -pod.ready_since if pod.ready else 0.0,
            -pod.restarts,
            -pod.created,
            pod.uid,
        )

    return sorted(pods, key=rank)


def replica_set_status(replica_set: Obj, plan: ReplicaPlan, *, now: float, stamp: str, failure: str = "") -> Obj:
    """Return the status that a ReplicaSet shall show; counts of zero are left out, as upstream does."""
    min_ready = min_ready_seconds(replica_set)
    template_labels = LabelSelector.from_labels(dig(replica_set, "spec", "template", "metadata", "labels", default={}))
    ready = [pod for pod in plan.active if pod.ready]
    counts = {
        "fullyLabeledReplicas": sum(1 for pod in plan.active if template_labels.matches(pod.labels)),
        "readyReplicas": len(ready),
        "availableReplicas": sum(1 for pod in ready if is_available(pod, min_ready, now)),
    }
    status: Obj = {
        "replicas": len(plan.active),
        **{name: count for name, count in counts.items() if count},
        "observedGeneration": replica_set["metadata"].get("generation", 0),
    }
    if replica_set.get("kind") != "ReplicationController":
        status["terminatingReplicas"] = plan.terminating
    before: list[Obj] = dig(replica_set, "status", "conditions", default=[])
    conditions = [entry for entry in before if entry.get("type") != "ReplicaFailure"]
    if failure:
        reason = "FailedCreate" if plan.create else "FailedDelete"
        standing = find_condition(before, "ReplicaFailure")
        made = {**condition("ReplicaFailure", True, reason, failure), "lastTransitionTime": stamp}
        conditions.append(standing or made)
    if conditions:
        status["conditions"] = conditions
    return status


def min_ready_seconds(workload: Obj) -> int:
    """Return how long a pod must have been ready to count as available."""
    return int(dig(workload, "spec", "minReadySeconds", default=0))


def is_available(pod: PodFacts, min_ready: int, now: float) -> bool:
    """Tell whether a pod has been ready for long enough."""
    return pod.ready and (not min_ready or pod.ready_since + min_ready <= now)


def next_availability(pods: Iterable[PodFacts], min_ready: int, now: float) -> float | None:
    """Return the seconds until the next ready pod becomes available; None when none is waiting for that."""
    waits = [pod.ready_since + min_ready - now for pod in pods if pod.ready and not is_available(pod, min_ready, now)]
    return min(waits, default=None)
