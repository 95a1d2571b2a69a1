"""What pods need goes with their Deployment, as a user applies it with kubectl and reads it with hanse."""

from __future__ import annotations

import json
from typing import Any

from tests.behaviour.stage import selecting, template
from tests.e2e.federation import MEMBERS, Federation, get
from tests.kubernetes.real import wait_until

PATIENCE_SECONDS = 60.0
NAMESPACE = "along"
HERE = f"--namespace={NAMESPACE}"
ONLY_WHERE_NAMED = {"hanse.dev/dependencies": "follow"}
NEEDED = ("configmap/settings", "secret/key", "serviceaccount/robot")


def what_pods_need_goes_where_they_go(federation: Federation) -> None:
    """Into the one cluster of its Deployment, from there into another, and nowhere else."""
    _apply(federation, _manifest("v1", "Namespace", NAMESPACE, namespace=""), *_needed(), _policy("eu-west"), _web())
    _until("everything in eu-west alone", lambda: _holders(federation) == {"eu-west"} and _ready(federation) == 2)
    told = federation.hanse("explain", "configmap", "settings", "-n", NAMESPACE)
    assert f"It follows Deployment {NAMESPACE}/web, which is there." in told

    _apply(federation, _policy("us-east"))
    _until("everything in us-east alone", lambda: _holders(federation) == {"us-east"} and _ready(federation) == 2)
    federation.kubectl("federation", "delete", "namespace", NAMESPACE)


def _needed() -> list[dict[str, Any]]:
    return [
        _manifest("v1", "ConfigMap", "settings", data={"color": "blue"}),
        _manifest("v1", "Secret", "key", annotations=ONLY_WHERE_NAMED, stringData={"key": "1"}),
        _manifest("v1", "ServiceAccount", "robot"),
    ]


def _policy(cluster: str) -> dict[str, Any]:
    spec = {"selects": [{"kind": "Deployment"}], "clusters": {"names": [cluster]}, "dependencies": "Follow"}
    return _manifest("hanse.dev/v1alpha1", "PlacementPolicy", "together", spec=spec)


def _web() -> dict[str, Any]:
    pods = template("web", serviceAccountName="robot", volumes=[{"name": "key", "secret": {"secretName": "key"}}])
    pods["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    spec = {"replicas": 2, "selector": selecting("web"), "template": pods}
    return _manifest("apps/v1", "Deployment", "web", spec=spec)


def _manifest(
    api_version: str,
    kind: str,
    name: str,
    *,
    namespace: str = NAMESPACE,
    annotations: dict[str, str] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    metadata = {"name": name, "annotations": annotations or {}} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _apply(federation: Federation, *manifests: dict[str, Any]) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    federation.kubectl("federation", "apply", "--filename=-", input=json.dumps(listed))


def _holders(federation: Federation) -> set[str] | None:
    """Return the clusters that have everything; None while one has only a part of it."""
    found = {
        member: federation.kubectl(
            member, "get", "deployment/web", *NEEDED, HERE, "--ignore-not-found", "--output=name"
        ).split()
        for member in MEMBERS
    }
    if any(0 < len(names) <= len(NEEDED) for names in found.values()):
        return None
    return {member for member, names in found.items() if names}


def _ready(federation: Federation) -> int:
    count: int = get(federation, "federation", "deployment", "web", HERE)["status"].get("readyReplicas", 0)
    return count


def _until(what: str, holds: Any) -> None:
    wait_until(holds, seconds=PATIENCE_SECONDS, what=what)
