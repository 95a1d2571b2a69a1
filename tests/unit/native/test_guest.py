"""Plain objects on a host that is a cluster with work of its own."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.api.federated_kinds import FEDERATED_KINDS
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES, PLACEMENT_POLICIES
from hanse.kube.manifest import Obj
from hanse.kube.resources import NAMESPACES
from hanse.native import GuestDoor
from hanse.propagation.door import keyed
from hanse.propagation.intent import Intent, Problem


def namespace(name: str, **labels: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "uid": name, "labels": labels}}


OPEN = namespace("shop", **{"hanse.dev/federate": "true"})
CLOSED = namespace("stock")


def obj(api_version: str, kind: str, **metadata: Any) -> Obj:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", "uid": "u", **metadata}}


def door() -> GuestDoor:
    inputs: dict[Any, list[Obj]] = {
        PLACEMENT_POLICIES: [],
        CLUSTER_PLACEMENT_POLICIES: [],
        FEDERATED_KINDS: [],
        NAMESPACES: [OPEN, CLOSED],
    }
    return GuestDoor().informed(keyed(inputs))


@pytest.mark.parametrize(
    ("source", "admitted"),
    [
        (OPEN, True),
        (CLOSED, False),
        (obj("v1", "ConfigMap", namespace="shop"), True),
        (obj("v1", "ConfigMap", namespace="stock"), False),
        (obj("v1", "ConfigMap", namespace="unknown"), False),
        (obj("scheduling.k8s.io/v1", "PriorityClass"), False),
    ],
)
def test_only_what_a_labelled_namespace_holds_leaves_the_host(source: Obj, admitted: bool) -> None:
    assert door().admits(source) is admitted
    assert door().lets_go(source) is not admitted


def test_a_config_map_of_a_labelled_namespace_goes_everywhere() -> None:
    assert isinstance(door().translate(obj("v1", "ConfigMap", namespace="shop")), Intent)


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("apps/v1", "Deployment"), ("v1", "Service"), ("batch/v1", "Job"), ("autoscaling/v2", "HorizontalPodAutoscaler")],
)
def test_what_the_host_runs_itself_is_refused_with_a_pointer_to_its_federated_type(api_version: str, kind: str) -> None:
    problem = door().translate(obj(api_version, kind, namespace="shop"))
    assert isinstance(problem, Problem)
    assert f"Federated{kind}" in problem.message


def test_a_refusal_is_told_beside_the_status_that_the_host_writes() -> None:
    source = {**obj("apps/v1", "Deployment", namespace="shop"), "status": {"replicas": 3}}
    problem = door().translate(source)
    assert isinstance(problem, Problem)
    told = door().refused(source, problem, "2026-01-01T00:00:00Z")
    assert told["status"] == {"replicas": 3}
    assert told["metadata"]["annotations"]["hanse.dev/status"] == problem.message
    assert door().refused(told, problem, "2026-01-02T00:00:00Z") is told
