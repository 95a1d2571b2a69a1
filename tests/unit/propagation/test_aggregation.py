"""The federation's status has the kind's own shape."""

import pytest

from hanse.kube.conditions import find_condition
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, SERVICES
from hanse.propagation.aggregation import aggregate
from hanse.propagation.planning import Observation, plan
from hanse.propagation.report import Report, Row
from tests.unit.propagation.builders import copy, deployment_intent, fleet

NOW = "2026-01-01T00:00:00Z"


def source(replicas=9, generation=2, status=None):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "generation": generation},
        "spec": {"replicas": replicas},
        "status": status or {},
    }


def report(intent, copies, offline=()):
    clusters = fleet(*copies, offline=offline)
    planned = plan(intent, clusters, {name: Observation(True, obj) for name, obj in copies.items()})
    rows = tuple(
        Row(name, getattr(planned.wanted.get(name), "manifest", None), obj, live=name not in offline)
        for name, obj in copies.items()
    )
    return Report(planned.decision, rows)


def test_counts_are_sums_and_a_settled_rollout_is_observed():
    intent = deployment_intent(9)

    status = aggregate(DEPLOYMENTS, source(), report(intent, {name: copy(intent, 3) for name in "abc"}), NOW)

    assert {name: status[name] for name in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")} == {
        "replicas": 9, "updatedReplicas": 9, "readyReplicas": 9, "availableReplicas": 9,
    }  # fmt: skip
    assert status["observedGeneration"] == 2
    assert "unavailableReplicas" not in status
    assert [(each["type"], each["status"]) for each in status["conditions"]] == [
        ("Available", "True"), ("Progressing", "True"), ("Propagated", "True"),
    ]  # fmt: skip


def test_a_rendering_that_a_member_has_not_got_yet_is_not_observed():
    old, new = deployment_intent(9, image="web:1"), deployment_intent(9, image="web:2")
    copies = {"a": copy(new, 3), "b": copy(new, 3), "c": copy(old, 3)}

    status = aggregate(DEPLOYMENTS, source(status={"observedGeneration": 1}), report(new, copies), NOW)

    assert status["observedGeneration"] == 1
    assert find_condition(status["conditions"], "Propagated")["message"] == "waiting for c"


def test_a_member_whose_controllers_lag_is_not_observed():
    intent = deployment_intent(9)
    copies = {name: copy(intent, 3) for name in "abc"}
    copies["b"]["metadata"]["generation"] = 2

    assert "observedGeneration" not in aggregate(DEPLOYMENTS, source(), report(intent, copies), NOW)


def test_a_cluster_that_does_not_answer_counts_for_nothing():
    intent = deployment_intent(9)

    status = aggregate(
        DEPLOYMENTS, source(), report(intent, {name: copy(intent, 3) for name in "abc"}, offline="c"), NOW
    )

    assert status["availableReplicas"] == 6
    assert status["unavailableReplicas"] == 3
    assert find_condition(status["conditions"], "Available")["status"] == "False"


def test_times_move_only_when_something_does():
    intent = deployment_intent(9)
    told = report(intent, {name: copy(intent, 3) for name in "abc"})
    first = aggregate(DEPLOYMENTS, source(), told, NOW)

    assert aggregate(DEPLOYMENTS, source(status=first), told, "2030-01-01T00:00:00Z") == first


def test_a_services_addresses_are_those_of_every_member():
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "generation": 1}}
    service["spec"] = {"type": "LoadBalancer"}

    def with_address(ip):
        return {"metadata": {}, "status": {"loadBalancer": {"ingress": [{"ip": ip}]}}}

    planned = plan(deployment_intent(), fleet("a", "b", "c", offline="c"), {})
    rows = tuple(
        Row(name, None, with_address(ip), live=name != "c")
        for name, ip in (("a", "127.11.0.1"), ("b", "127.10.0.1"), ("c", "127.12.0.1"))
    )

    status = aggregate(SERVICES, service, Report(planned.decision, rows), NOW)

    assert status == {"loadBalancer": {"ingress": [{"ip": "127.10.0.1"}, {"ip": "127.11.0.1"}]}}


def test_a_kind_without_status_has_none():
    assert aggregate(CONFIGMAPS, {}, Report(plan(deployment_intent(), [], {}).decision, ()), NOW) is None


@pytest.mark.parametrize(
    ("clusters", "sentence"),
    [
        ([], "no cluster has joined the federation"),
        (fleet("a", offline="a"), "no cluster is chosen: a: it is offline: no answer"),
    ],
)
def test_what_is_missing_is_one_sentence(clusters, sentence):
    planned = plan(deployment_intent(), clusters, {})
    rows = tuple(Row(cluster.name, None, None, live=False) for cluster in clusters)

    assert Report(planned.decision, rows).missing == sentence
