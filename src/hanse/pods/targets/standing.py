"""What is thought of a target, how its status says so, and what the source's engine sees of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hanse.api.admiralty.keys import (
    NODE_CLUSTER_TARGET,
    NODE_TARGET_NAME,
    NODE_TARGET_NAMESPACE,
    NODE_TYPE,
    PROVIDER,
    PROVIDER_NAME,
    TARGET_FINALIZER,
    VIRTUAL,
)
from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import Cluster, Taint
from hanse.clusters.health import Health, State, Symptom
from hanse.kube.conditions import condition, is_true
from hanse.kube.manifest import Obj, dig, labels_of
from hanse.pods.targets.reading import Target

JOINED = "Joined"
_LEAVING = "it is being removed, and stays until nothing of this cluster runs there any more"
_FORGETTING = f"to have forgotten what runs there, take its finalizer {TARGET_FINALIZER} off"
# Taints with these say of a virtual node what is known better of the cluster behind it, or what every one has.
_NODE_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", PROVIDER)


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a target can be used, None where that is not known yet, and why.

    An `offline` one does not answer. One that is `blocked` could be reached, or not even that, and must not be: a
    person has to mend it.
    """

    ready: bool | None
    reason: str
    why: str
    offline: bool = False
    blocked: bool = False


def standing_of(health: Health) -> Standing:
    """Return the standing of a target whose cluster is probed."""
    match health.state:
        case State.READY:
            return Standing(True, Symptom.READY.value, "its API server answers")
        case State.UNKNOWN:
            return Standing(None, Symptom.NOT_PROBED.value, health.why)
        case _:
            return Standing(False, health.symptom.value, health.why, offline=health.state is State.OFFLINE)


def standing_of_cluster(cluster: Cluster) -> Standing:
    """Return the standing of a target that is a registered cluster."""
    if not cluster.refusal:
        return Standing(True, Symptom.READY.value, f"cluster {cluster.name} is ready")
    why = f"cluster {cluster.name}: {cluster.refusal}"
    known = cluster.offline or bool(cluster.refused_since)
    return Standing(False if known else None, f"Cluster{cluster.state}", why, offline=cluster.offline)


def conditions_of(target: Target, standing: Standing, *, joined: bool) -> list[Obj]:
    """Return what a target's status shall say.

    One that has `joined` may hold pods, whatever becomes of it: that must outlive the process that saw it.
    """
    why = f"{standing.why}; {target.warning}" if target.warning else standing.why
    ready = condition("Ready", standing.ready, standing.reason, why)
    if target.leaving and target.held:
        ready = condition("Ready", False, "TargetLeaving", f"{_LEAVING}: {why}; {_FORGETTING}")
    reached = "it was ready once, so pods may be there" if joined else "it has never been ready"
    # Nobody knows whether a cluster is there of which nothing was heard.
    offline = None if standing.ready is None else standing.offline
    return [
        condition(JOINED, joined, "Reached" if joined else "NotReached", reached),
        ready,
        condition("Offline", offline, standing.reason, standing.why),
    ]


def has_joined(conditions: list[Obj]) -> bool:
    """Tell whether a target was ready once."""
    return is_true(conditions, JOINED)


def cluster_of(
    target: Target, standing: Standing, since: str, *, behind: Cluster | None, summary: Obj | None, node: Obj | None
) -> Cluster:
    """Return a target as placement sees it.

    What is registered of the cluster `behind` it counts, or the `summary` that a private one gives of itself; on top of
    that, what people did with its virtual `node`: labels, cordon and taints.
    """
    name = str(target.name)
    base = replace(behind, name=name) if behind is not None else Cluster(name, created=target.created)
    if behind is None and summary is not None:
        base = replace(base, labels=labels_of(summary), capacity=_amounts(summary.get("allocatable")))
    labels = {**base.labels, **(labels_of(node) if node is not None else {}), **node_labels(target.name)}
    cordoned = bool(dig(node, "spec", "unschedulable", default=False))
    return replace(
        base,
        labels=labels,
        ready=standing.ready is True,
        offline=standing.offline,
        why="" if standing.ready else standing.why,
        refused_since=since,
        unschedulable=base.unschedulable or cordoned or target.leaving,
        taints=(*base.taints, *_taints(node)),
        capacity={} if target.autoscales else base.capacity,
        free={} if target.autoscales else base.free,
    )


def node_labels(name: TargetName) -> dict[str, str]:
    """Return the labels by which a virtual node is known as one, and as that of a target."""
    labels = {NODE_TYPE: VIRTUAL, PROVIDER: PROVIDER_NAME}
    if name.namespace:
        return {**labels, NODE_TARGET_NAMESPACE: name.namespace, NODE_TARGET_NAME: name.name}
    return {**labels, NODE_CLUSTER_TARGET: name.name}


def _taints(node: Obj | None) -> tuple[Taint, ...]:
    return tuple(
        Taint(
            key=taint["key"],
            value=taint.get("value") or "",
            effect=taint.get("effect") or "NoSchedule",
            time_added=taint.get("timeAdded") or "",
        )
        for taint in dig(node, "spec", "taints", default=())
        if not taint["key"].startswith(_NODE_TAINTS)
    )


def _amounts(amounts: Mapping[str, object] | None) -> dict[str, str]:
    return {name: str(amount) for name, amount in (amounts or {}).items()}
