"""Kinds of every sort in a federation of three clusters, as a user applies, follows and reads them with kubectl."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hanse.kube.conditions import is_true
from hanse.kube.manifest import dig
from tests.behaviour.stage import selecting, template
from tests.e2e.federation import MEMBERS, Federation, Refused, get
from tests.kubernetes.real import KubectlError, wait_until

PATIENCE_SECONDS = 60.0
NAMESPACE = "wide"
HERE = f"--namespace={NAMESPACE}"
STORAGE = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
ROLES = "rbac.authorization.k8s.io/v1"


def manifest(api_version: str, kind: str, name: str, namespace: str = NAMESPACE, **fields: Any) -> dict[str, Any]:
    """Return an object as somebody writes it."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def workload(app: str, **fields: Any) -> dict[str, Any]:
    return {"selector": selecting(app), "template": template(app), **fields}


def once(*command: str) -> dict[str, Any]:
    return {"template": template("once", command=command, restartPolicy="Never")}


HOME = manifest("v1", "Namespace", NAMESPACE, "")
KINDS = (
    HOME,
    manifest("apps/v1", "Deployment", "web", spec=workload("web", replicas=6)),
    manifest(
        "apps/v1",
        "StatefulSet",
        "db",
        spec=workload(
            "db",
            replicas=3,
            serviceName="db",
            volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": STORAGE}],
        ),
    ),
    manifest("apps/v1", "DaemonSet", "agent", spec=workload("agent")),
    manifest("batch/v1", "Job", "pi", spec={"parallelism": 3, "completions": 3, **once("sleep", "1s")}),
    manifest("batch/v1", "CronJob", "nightly", spec={"schedule": "0 4 * * *", "jobTemplate": {"spec": once()}}),
    manifest(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "web",
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 3,
            "maxReplicas": 9,
        },
    ),
    manifest("v1", "PersistentVolumeClaim", "shared", spec=STORAGE),
    manifest(
        "networking.k8s.io/v1",
        "Ingress",
        "web",
        spec={"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}},
    ),
    manifest("networking.k8s.io/v1", "NetworkPolicy", "closed", spec={"podSelector": {}}),
)
EVERYWHERE = {
    "deployment.apps/web",
    "statefulset.apps/db",
    "daemonset.apps/agent",
    "job.batch/pi",
    "horizontalpodautoscaler.autoscaling/web",
    "persistentvolumeclaim/shared",
    "ingress.networking.k8s.io/web",
    "networkpolicy.networking.k8s.io/closed",
}
WIDGETS = manifest(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "widgets.example.com",
    "",
    spec={
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                "subresources": {"status": {}},
            }
        ],
    },
)
READER = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]


def kinds_go_to_every_cluster_and_kubectl_follows_them(federation: Federation) -> None:
    """Lines 4, 45, 51 and 57; the federation's status is read by kubectl as that of one cluster."""
    apply(federation, *KINDS)
    for target in ("deployment/web", "statefulset/db", "daemonset/agent"):
        federation.kubectl("federation", "rollout", "status", target, HERE, "--timeout=180s")
    federation.kubectl("federation", "wait", "job/pi", "--for=condition=complete", HERE, "--timeout=180s")
    federation.kubectl("federation", "wait", "deployment/web", "--for=condition=available", HERE, "--timeout=180s")

    until("every kind in every cluster", lambda: all(names(federation, member) >= EVERYWHERE for member in MEMBERS))
    assert len(holders(federation, "cronjob", "nightly")) == 1, "what runs once a night runs in one cluster"
    limits = [get(federation, member, "hpa", "web", HERE)["spec"] for member in MEMBERS]
    assert sum(each["maxReplicas"] for each in limits) == 9
    assert sum(each["minReplicas"] for each in limits) >= 3
    assert all(1 <= each["minReplicas"] <= each["maxReplicas"] for each in limits)

    assert columns(federation, "statefulset/db")[:2] == ["db", "3/3"]
    assert columns(federation, "daemonset/agent")[:4] == ["agent", "9", "9", "9"]
    assert columns(federation, "job/pi")[:3] == ["pi", "Complete", "3/3"]
    name, ready, _, available, _ = columns(federation, "deployment/web")
    assert (name, ready.partition("/")[0]) == ("web", available)


def enabled_kinds_go_to_every_cluster(federation: Federation) -> None:
    """Roles and a custom kind stay on the federation until somebody asks for them; then they are as any other."""
    role = manifest(ROLES, "Role", "reader", rules=READER)
    subjects = [{"kind": "ServiceAccount", "name": "robot", "namespace": NAMESPACE}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    binding = manifest(ROLES, "RoleBinding", "robot", roleRef=reference, subjects=subjects)
    apply(federation, HOME, manifest("v1", "ServiceAccount", "robot"), role, binding, WIDGETS)
    until("widgets are served", lambda: is_established(federation, "widgets.example.com"))
    apply(federation, manifest("example.com/v1", "Widget", "gear", spec={"size": 5}))
    assert holders(federation, "role", "reader") == ()

    for kind in ("roles", "rolebindings", "customresourcedefinitions", "widgets"):
        federation.hanse("enable", kind)
    federation.renew_rights()
    asked = ("--as", f"system:serviceaccount:{NAMESPACE}:robot")
    until("the roles in every cluster", lambda: all(may(federation, member, *asked) for member in MEMBERS))
    until("the Widget in every cluster", lambda: is_everywhere(federation, "widget", "gear"))
    table = federation.hanse("get", "widgets", "-n", NAMESPACE)
    assert [line.split()[:2] for line in table.splitlines()[1:]] == [
        ["(federation)", "gear"],
        *([member, "gear"] for member in MEMBERS),
    ]
    assert "It is ready." in federation.hanse("explain", "widget", "gear", "-n", NAMESPACE)
    federation.kubectl("federation", "delete", "widget", "gear", HERE)
    assert holders(federation, "widget", "gear") == ()


def what_a_cluster_runs_already_is_adopted_and_its_pods_stay(federation: Federation) -> None:
    """A Deployment that was there before is taken over with its pods, none of which starts again."""
    apply(federation, HOME)
    until("the namespace in every cluster", lambda: is_everywhere(federation, "namespace", NAMESPACE))
    old = manifest("apps/v1", "Deployment", "old", spec=workload("old", replicas=2))
    federation.kubectl("eu-west", "apply", "--filename=-", input=json.dumps(old))
    federation.kubectl("eu-west", "rollout", "status", "deployment/old", HERE, "--timeout=180s")
    before = pods(federation, "eu-west", "old")
    assert len(before) == 2

    asked = {**old, "spec": {**old["spec"], "replicas": 6}}
    asked["metadata"] = {**old["metadata"], "annotations": {"hanse.dev/adopt": "true"}}
    apply(federation, asked)
    federation.kubectl("federation", "rollout", "status", "deployment/old", HERE, "--timeout=180s")
    assert {member: len(pods(federation, member, "old")) for member in MEMBERS} == dict.fromkeys(MEMBERS, 2)
    assert pods(federation, "eu-west", "old") == before


def apply(federation: Federation, *objects: dict[str, Any]) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    federation.kubectl("federation", "apply", "--filename=-", input=json.dumps(listed))


def until(what: str, holds: Callable[[], bool]) -> None:
    wait_until(holds, seconds=PATIENCE_SECONDS, what=what)


def holders(federation: Federation, kind: str, name: str) -> tuple[str, ...]:
    """Return the clusters that have an object."""

    def has(member: str) -> bool:
        try:
            federation.kubectl(member, "get", kind, name, HERE, "--output=name")
        except (Refused, KubectlError):
            return False
        return True

    return tuple(member for member in MEMBERS if has(member))


def names(federation: Federation, member: str) -> set[str]:
    """Return what a cluster has of the kinds that go to every cluster."""
    kinds = ",".join(sorted(name.partition("/")[0] for name in EVERYWHERE))
    return set(federation.kubectl(member, "get", kinds, HERE, "--output=name").split())


def is_everywhere(federation: Federation, kind: str, name: str) -> bool:
    return holders(federation, kind, name) == MEMBERS


def may(federation: Federation, member: str, *as_whom: str) -> bool:
    try:
        return federation.kubectl(member, "auth", "can-i", "get", "configmaps", HERE, *as_whom).strip() == "yes"
    except (Refused, KubectlError):
        return False


def pods(federation: Federation, member: str, app: str) -> set[str]:
    """Return the uids of an application's pods."""
    items = get(federation, member, "pods", f"--selector=app={app}", HERE)["items"]
    return {item["metadata"]["uid"] for item in items}


def columns(federation: Federation, target: str) -> list[str]:
    """Return what `kubectl get` prints of an object of the federation."""
    return federation.kubectl("federation", "get", target, HERE, "--no-headers").split()


def is_established(federation: Federation, name: str) -> bool:
    """Tell whether a kind is served; `kubectl wait` fails on a definition of which nothing was said yet."""
    crd = json.loads(federation.kubectl("federation", "get", "crd", name, "-o", "json"))
    return is_true(dig(crd, "status", "conditions"), "Established")
