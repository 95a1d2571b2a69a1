"""Clusters whose ingress controllers share a uid and an address, as kubectl shows them; one beside them does not."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.federation import MEMBERS, Federation, get
from tests.kubernetes.real import wait_until

PATIENCE_SECONDS = 60.0
NAMESPACE = "entrance"
HERE = f"--namespace={NAMESPACE}"
SHARING = ("ap-south", "eu-west")
UID = "kubernetes.io/ingress.uid"
STATIC_IP = "kubernetes.io/ingress.global-static-ip-name"


def clusters_share_an_address(federation: Federation) -> None:
    """The uid of the first goes to the second, and so does the Ingress, once its address has a name."""
    for name in SHARING:
        literal = f"--from-literal=uid=of-{name}"
        federation.kubectl(name, "create", "configmap", "ingress-uid", "--namespace=kube-system", literal)
        _until(f"{name} shares", lambda name=name: UID in _noted(federation, name))
    assert {_noted(federation, name)[UID] for name in SHARING} == {"of-ap-south"}
    _until("us-east keeps to itself", lambda: _noted(federation, "us-east").get("hanse.dev/ingress") == "own")

    federation.kubectl("federation", "create", "namespace", NAMESPACE)
    federation.kubectl("federation", "apply", "--filename=-", input=json.dumps(_ingress()))
    _until("the first and the plain one have it", lambda: _holders(federation) == {"ap-south", "us-east"})
    note = "ingress.kubernetes.io/static-ip=k8s-fw-web"
    federation.kubectl("ap-south", "annotate", "ingress", "web", HERE, note)
    _until("all have it", lambda: _holders(federation) == set(MEMBERS))
    copy = get(federation, "eu-west", "ingress", "web", HERE)
    assert copy["metadata"]["annotations"][STATIC_IP] == "k8s-fw-web"

    federation.kubectl("federation", "delete", "namespace", NAMESPACE)
    for name in SHARING:
        federation.kubectl(name, "delete", "configmap", "ingress-uid", "--namespace=kube-system")
    _until("nobody shares any more", lambda: all(UID not in _noted(federation, name) for name in MEMBERS))


def _ingress() -> dict[str, Any]:
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    metadata = {"name": "web", "namespace": NAMESPACE}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata,
        "spec": {"defaultBackend": backend},
    }


def _noted(federation: Federation, cluster: str) -> dict[str, str]:
    found = get(federation, "federation", "clusters.clusterregistry.k8s.io", cluster)
    annotations: dict[str, str] = found["metadata"].get("annotations") or {}
    return annotations


def _holders(federation: Federation) -> set[str]:
    asked = ("get", "ingress", "web", HERE, "--ignore-not-found", "--output=name")
    return {name for name in MEMBERS if federation.kubectl(name, *asked)}


def _until(what: str, holds: Any) -> None:
    wait_until(holds, seconds=PATIENCE_SECONDS, what=what)
