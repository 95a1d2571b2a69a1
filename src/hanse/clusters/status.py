"""What a Cluster's status says: pure, from the judgement of its health and what its nodes tell."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.clusters.health import Health, State, Symptom
from hanse.clusters.topology import Demand, Topology, free_capacity
from hanse.kube.conditions import condition, find_condition, merge_conditions
from hanse.kube.manifest import Obj

_ANSWERS = "its API server answers"


@dataclass(frozen=True, slots=True)
class Facts:
    """What a look at a member brought; empty where it could not be told, `denied` where it may not be."""

    topology: Topology | None = None
    demand: Demand | None = None
    version: str = ""
    uid: str = ""
    denied: str | None = None


def cluster_status(old: Obj, health: Health, facts: Facts, now: str) -> Obj:
    """Return the whole new status; equal to the old one when there is nothing new to say."""
    status = dict(old)
    topology = facts.topology
    if topology is not None:
        status.pop("region", None)
        status |= {"zones": list(topology.zones), "nodes": topology.nodes, "capacity": dict(topology.capacity)}
        if topology.region:
            status["region"] = topology.region
        if facts.demand is not None:
            status["free"] = free_capacity(topology, facts.demand, old.get("free") or {})
    if facts.version:
        status["version"] = facts.version
    if facts.uid:
        status["clusterUID"] = facts.uid
    known = old.get("conditions") or []
    told = [*_joined(health, facts, known), *_conditions(health)]
    status["conditions"] = merge_conditions(known, told, now)
    return status


def relayed_status(old: Obj, told: Obj, health: Health, now: str) -> Obj:
    """Return the whole new status of a cluster whose agent tells of it; the judgement is `health`, whatever it told."""
    facts = {name: value for name, value in told.items() if name != "conditions"}
    status = {**old, **facts}
    if facts and "region" not in facts:
        status.pop("region", None)
    joined = find_condition(told.get("conditions"), "Joined")
    relayed = [{name: value for name, value in joined.items() if name != "lastTransitionTime"}] if joined else []
    status["conditions"] = merge_conditions(old.get("conditions"), [*relayed, *_conditions(health)], now)
    return status


def health_from_status(conditions: list[Obj]) -> Health:
    """Read back the judgement that an earlier control plane wrote."""
    by_type = {entry.get("type"): entry for entry in conditions}
    ready = by_type.get("Ready", {})
    try:
        symptom = Symptom(ready.get("reason", ""))
    except ValueError:
        symptom = Symptom.NOT_PROBED
    if by_type.get("Offline", {}).get("status") == "True":
        return Health(State.OFFLINE, by_type["Offline"].get("message", ""), symptom=symptom)
    if ready.get("status") == "True":
        return Health(State.READY, ready.get("message", ""), symptom=Symptom.READY)
    if ready.get("status") == "False":
        return Health(State.NOT_READY, ready.get("message", ""), symptom=symptom)
    return Health()


def _joined(health: Health, facts: Facts, known: list[Obj]) -> list[Obj]:
    """Say whether our credentials are there and suffice; what an earlier look found stands until the next."""
    if health.symptom is Symptom.UNUSABLE:
        return [condition("Joined", False, Symptom.UNUSABLE.value, health.why)]
    if health.symptom is Symptom.NOT_AUTHENTICATED:
        return [condition("Joined", False, Symptom.NOT_AUTHENTICATED.value, health.why)]
    if facts.denied:
        return [condition("Joined", False, Symptom.NOT_AUTHORIZED.value, facts.denied)]
    mended = (Symptom.UNUSABLE, *((Symptom.NOT_AUTHENTICATED,) if health.state is State.READY else ()))
    stale = any(entry.get("type") == "Joined" and entry.get("reason") not in mended for entry in known)
    if facts.denied is None and stale:
        return []
    return [condition("Joined", True, "CredentialsFound", "its credentials can be used")]


def _conditions(health: Health) -> list[Obj]:
    match health.state:
        case State.READY:
            ready = condition("Ready", True, "ClusterReady", health.why)
            offline = condition("Offline", False, "ClusterReachable", _ANSWERS)
        case State.NOT_READY:
            ready = condition("Ready", False, health.symptom.value, health.why)
            offline = condition("Offline", False, "ClusterReachable", _ANSWERS)
        case State.OFFLINE:
            ready = condition("Ready", False, health.symptom.value, health.why)
            offline = condition("Offline", True, health.symptom.value, health.why)
        case _:
            ready = condition("Ready", None, "NotProbed", health.why)
            offline = condition("Offline", None, "NotProbed", health.why)
    return [ready, offline]
