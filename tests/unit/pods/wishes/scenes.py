"""Pods, placeholders and targets as the tests of wishes need them."""

from __future__ import annotations

from typing import Any

import yaml

from hanse.api.admiralty.keys import PROXY_CONSTRAINTS, SPEC_CONSTRAINTS
from hanse.api.clusters import Cluster, Taint
from hanse.placement import Decision, State, decide
from hanse.placement.ask import Placement
from hanse.pods.wishes.neighbours import Neighbour
from hanse.pods.wishes.node_terms import node_name
from hanse.propagation.candidates import candidate_of

EU, US, AP = "eu", "us", "team/ap"
TARGETS = (EU, US, AP)


def cluster(name: str, *taints: Taint, cpu: str = "4", ready: bool = True, **labels: str) -> Cluster:
    free = {"cpu": cpu, "pods": "100"} if cpu else {}
    return Cluster(
        name, {key.replace("_", "-"): value for key, value in labels.items()}, ready=ready, taints=taints, free=free
    )


FLEET = (
    cluster(EU, region="europe", zone="a", price="3", cpu="4"),
    cluster(US, region="america", zone="b", price="9", cpu="8"),
    cluster(AP, region="asia", cpu="2"),
)


def pod(spec: Any = None, *, annotations: dict[str, str] | None = None, cpu: str = "1") -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu}} if cpu else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "annotations": annotations or {}},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}], **(spec or {})},
    }


def wishing(constraints: Any, **fields: Any) -> dict[str, Any]:
    """A pod whose annotation says what it wishes of clusters."""
    text = constraints if isinstance(constraints, str) else yaml.safe_dump(constraints)
    return pod(annotations={PROXY_CONSTRAINTS: text}, **fields)


def by_its_spec(constraints: Any, **fields: Any) -> dict[str, Any]:
    """A pod whose own constraints are meant for clusters."""
    return pod(constraints, annotations={SPEC_CONSTRAINTS: ""}, **fields)


def placeholder(
    name: str = "web",
    *,
    bound: str = "",
    phase: str = "Pending",
    labels: dict[str, str] | None = None,
    namespace: str = "default",
    annotations: dict[str, str] | None = None,
    deleting: bool = False,
    **spec: Any,
) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "labels": labels or {},
        "annotations": annotations or {},
    }
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if bound:
        spec["nodeName"] = node_name(bound)
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def beside(target: str, name: str, **fields: Any) -> Neighbour:
    return Neighbour(placeholder(name, **fields), target)


def decided(placement: Placement, *, current: str = "", fleet: tuple[Cluster, ...] = FLEET) -> Decision:
    state = State(current={current: 1} if current else {})
    return decide(map(candidate_of, fleet), placement, replicas=1, state=state, key="default/web")


def required(*terms: Any) -> dict[str, Any]:
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": affinity}}


def expressions(*entries: tuple[str, str, list[str]]) -> dict[str, Any]:
    return {
        "matchExpressions": [
            {"key": k, "operator": o, "values": v} if v else {"key": k, "operator": o} for k, o, v in entries
        ]
    }
