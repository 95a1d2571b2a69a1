"""What a Cluster's status says: pure, from the judgement of its health and what its nodes tell."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.clusters.health import Health, State
from hanse.clusters.topology import Topology
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj


@dataclass(frozen=True, slots=True)
class Facts:
    """What a look at a member brought; empty where it could not be told."""

    topology: Topology | None = None
    version: str = ""
    uid: str = ""


def cluster_status(old: Obj, health: Health, facts: Facts, now: str, *, joined: str = "") -> Obj:
    """Return the whole new status; equal to the old one when there is nothing new to say.

    `joined` is what stands in the way of talking to the cluster at all, "" where nothing does.
    """
    status = dict(old)
    topology = facts.topology
    if topology is not None:
        status.pop("region", None)
        status |= {"zones": list(topology.zones), "nodes": topology.nodes, "capacity": dict(topology.capacity)}
        if topology.region:
            status["region"] = topology.region
    if facts.version:
        status["version"] = facts.version
    if facts.uid:
        status["clusterUID"] = facts.uid
    status["conditions"] = merge_conditions(old.get("conditions"), _conditions(health, joined), now)
    return status


def health_from_status(conditions: list[Obj]) -> Health:
    """Read back the judgement that an earlier control plane wrote."""
    by_type = {entry.get("type"): entry for entry in conditions}
    if by_type.get("Offline", {}).get("status") == "True":
        return Health(State.OFFLINE, by_type["Offline"].get("message", ""))
    ready = by_type.get("Ready", {})
    if ready.get("status") == "True":
        return Health(State.READY, ready.get("message", ""))
    if ready.get("status") == "False":
        return Health(State.NOT_READY, ready.get("message", ""))
    return Health()


def _conditions(health: Health, joined: str) -> list[Obj]:
    joined_condition = (
        condition("Joined", False, "CredentialsUnusable", joined)
        if joined
        else condition("Joined", True, "CredentialsFound", "its credentials can be used")
    )
    match health.state:
        case State.READY:
            ready = condition("Ready", True, "ClusterReady", health.why)
            offline = condition("Offline", False, "ClusterReachable", "its API server answers")
        case State.NOT_READY:
            ready = condition("Ready", False, "ClusterNotReady", health.why)
            offline = condition("Offline", False, "ClusterReachable", "its API server answers")
        case State.OFFLINE:
            ready = condition("Ready", False, "ClusterNotReachable", health.why)
            offline = condition("Offline", True, "ClusterNotReachable", health.why)
        case _:
            ready = condition("Ready", None, "NotProbed", health.why)
            offline = condition("Offline", None, "NotProbed", health.why)
    return [joined_condition, ready, offline]
