"""What follows a pod, and what of it is copied."""

import pytest

from hanse.api.admiralty.keys import (
    FOLLOW,
    HAS_FINALIZER,
    PARENT_CLUSTER,
    PARENT_NAME,
    PARENT_NAMESPACE,
    PARENT_UID,
)
from hanse.api.names import FINALIZER, MANAGED_LABEL, STATUS_ANNOTATION
from hanse.placement.decision import Decision, Verdict
from hanse.pods.baggage.door import DATA_STAYS, BaggageDoor
from hanse.pods.baggage.needs import needs_of
from hanse.propagation.dependencies import NO_NEEDS
from hanse.propagation.intent import Follows
from hanse.propagation.report import Report, Row
from tests.unit.pods.baggage.builders import NO_TARGETS, targets

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN = {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
LEGACY = {"name": "token", "secret": {"secretName": "default-token-x"}}


def pod(annotations=None, container=None, **spec):
    containers = [{"name": "main", "image": "main:1", **(container or {})}]
    metadata = {"name": "web", "namespace": "shop", "annotations": annotations or {}}
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def mounted(volume):
    return pod(container={"volumeMounts": [{"name": "token", "mountPath": TOKEN_PATH}]}, volumes=[volume])


def env(kind, name, **more):
    return {"env": [{"name": "X", "valueFrom": {kind: {"name": name, "key": "x", **more}}}]}


ACCOUNT = {"serviceAccountName": "robot"}
CLAIM = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


@pytest.mark.parametrize(
    ("workload", "named"),
    [
        (pod(), []),
        (pod(container=env("configMapKeyRef", "settings")), ["configmaps/shop/settings"]),
        (pod(container=env("secretKeyRef", "password")), ["secrets/shop/password"]),
        (pod(container={"envFrom": [{"secretRef": {"name": "password"}}]}), ["secrets/shop/password"]),
        (pod(initContainers=[{"name": "a", **env("configMapKeyRef", "early")}]), ["configmaps/shop/early"]),
        (pod(imagePullSecrets=[{"name": "registry"}]), ["secrets/shop/registry"]),
        (pod(volumes=[{"name": "a", "configMap": {"name": "kube-root-ca.crt"}}]), []),
        (pod(**ACCOUNT), []),
        (pod({FOLLOW: "serviceaccounts"}, **ACCOUNT), ["serviceaccounts/shop/robot"]),
        (pod({FOLLOW: "serviceaccounts"}, serviceAccountName="default"), []),
        (pod(**CLAIM), []),
        (pod({FOLLOW: "persistentvolumeclaims"}, **CLAIM), ["persistentvolumeclaims/shop/data"]),
        (pod({FOLLOW: " serviceaccounts ,namespaces"}, **ACCOUNT), ["serviceaccounts/shop/robot", "namespaces/shop"]),
        (mounted(TOKEN), []),
        (mounted(LEGACY), []),
    ],
)
def test_configmaps_and_secrets_follow_always_and_other_kinds_where_the_pod_asks_for_it(workload, named):
    needs = needs_of(workload)

    assert [str(need.ref) for need in needs.named] == named
    assert needs.follow is bool(named)


def test_a_job_needs_what_its_pods_name_and_asks_for_more_itself_or_in_its_template():
    inner = pod({FOLLOW: "serviceaccounts"}, env("secretKeyRef", "password"), **ACCOUNT, **CLAIM)
    job = {
        "kind": "Job",
        "metadata": {"name": "sum", "namespace": "shop", "annotations": {FOLLOW: "persistentvolumeclaims"}},
        "spec": {"template": {"metadata": {"annotations": inner["metadata"]["annotations"]}, "spec": inner["spec"]}},
    }

    assert [need.ref.resource.plural for need in needs_of(job).named] == [
        "persistentvolumeclaims",
        "secrets",
        "serviceaccounts",
    ]


@pytest.mark.parametrize("odd", [{"metadata": {"namespace": "shop"}}, {"metadata": {}, "spec": {"containers": None}}])
def test_what_holds_no_pod_needs_nothing(odd):
    assert needs_of(odd) == NO_NEEDS


def obj(kind, name="thing", api="v1", **fields):
    metadata = {
        "name": name,
        "namespace": "shop",
        "uid": "u-1",
        "resourceVersion": "7",
        "finalizers": ["x"],
        "ownerReferences": [{"kind": "Owner"}],
        "labels": {"team": "shop", MANAGED_LABEL: "true", HAS_FINALIZER: "true"},
        "annotations": {
            "note": "kept",
            "multicluster.admiralty.io/x": "y",
            STATUS_ANNOTATION: "gone",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "pv.kubernetes.io/bind-completed": "yes",
        },
    }
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


@pytest.mark.parametrize(
    ("source", "body"),
    [
        (
            obj("ConfigMap", data={"a": "1"}, binaryData={"b": "AA=="}, immutable=True),
            {"data": {"a": "1"}, "binaryData": {"b": "AA=="}, "immutable": True},
        ),
        (obj("Secret", type="Opaque", data={"a": "MQ=="}), {"type": "Opaque", "data": {"a": "MQ=="}}),
        (
            obj("ServiceAccount", secrets=[{"name": "token"}], imagePullSecrets=[{"name": "registry"}]),
            {"imagePullSecrets": [{"name": "registry"}]},
        ),
        (
            obj(
                "PersistentVolumeClaim",
                spec={"volumeName": "pv", "storageClassName": "fast"},
                status={"phase": "Bound"},
            ),
            {"spec": {"storageClassName": "fast"}},
        ),
    ],
    ids=lambda value: value.get("kind", "") if isinstance(value, dict) else "",
)
def test_a_copy_is_what_was_written_and_says_whose_it_is(source, body):
    template = BaggageDoor("home", NO_TARGETS).translate(source).template

    metadata = {
        "name": "thing",
        "namespace": "shop",
        "labels": {"team": "shop", PARENT_UID: "u-1", PARENT_CLUSTER: "home"},
        "annotations": {"note": "kept", PARENT_NAMESPACE: "shop", PARENT_NAME: "thing"},
    }
    assert template == {"apiVersion": "v1", "kind": source["kind"], "metadata": metadata, **body}


def test_a_namespace_is_not_marked_so_that_no_sweep_takes_it_and_its_pods_stay_where_they_are():
    source = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "u-1"}, "spec": {}}
    source["metadata"]["labels"] = {"multicluster-scheduler": "enabled", "team": "shop"}
    door = BaggageDoor("home", NO_TARGETS)

    assert door.translate(source).template["metadata"]["labels"] == {"team": "shop"}
    assert door.farewell(source).orphan
    assert not door.farewell(obj("ConfigMap")).orphan


@pytest.mark.parametrize(
    ("source", "admitted"),
    [
        (obj("ConfigMap"), True),
        (obj("ConfigMap", "kube-root-ca.crt"), False),
        (obj("ServiceAccount", "default"), False),
        (obj("Secret", type="Opaque"), True),
        (obj("Secret", type="kubernetes.io/dockerconfigjson"), True),
        (obj("Secret", type="kubernetes.io/service-account-token"), False),
        (obj("Secret", type="bootstrap.kubernetes.io/token"), False),
        ({**obj("ConfigMap"), "metadata": {"name": "x", "namespace": "kube-system"}}, False),
        ({**obj("Secret"), "metadata": {"name": "x", "namespace": "hanse-system"}}, False),
        ({**obj("Secret"), "metadata": {"name": "x", "namespace": "shop", "finalizers": [FINALIZER]}}, False),
        ({"kind": "Namespace", "metadata": {"name": "kube-public"}}, False),
        ({"kind": "Namespace", "metadata": {"name": "shop"}}, True),
    ],
)
def test_what_every_cluster_has_of_its_own_or_from_another_door_is_brought_nowhere(source, admitted):
    assert BaggageDoor("home", NO_TARGETS).admits(source) is admitted


def test_it_follows_what_names_it_but_not_into_the_source_itself():
    intent = BaggageDoor("home", targets("east", "me", own=("me",))).translate(obj("ConfigMap"))

    assert (intent.follows, intent.at_home) == (Follows.NAMED, frozenset({"me"}))


@pytest.mark.parametrize(
    ("kind", "trouble", "told"),
    [
        ("ConfigMap", "", ""),
        ("ConfigMap", "it is full", "east: it is full"),
        ("PersistentVolumeClaim", "it is full", "east: it is full"),
        ("PersistentVolumeClaim", "", DATA_STAYS.message),
    ],
)
def test_an_object_says_what_stands_in_the_way_and_a_claim_that_its_data_stays(kind, trouble, told):
    source = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "thing"}}
    decision = Decision((Verdict("east", chosen=True, replicas=None, reasons=("it is there",)),))
    report = Report(decision, (Row("east", source, None, live=True, trouble=trouble), _silent("west")))

    reported = BaggageDoor("home", NO_TARGETS).reported(source, report, "now")

    assert reported["metadata"].get("annotations", {}).get(STATUS_ANNOTATION, "") == told


def _silent(cluster):
    return Row(cluster, None, None, live=True, trouble="it is none of its business")
