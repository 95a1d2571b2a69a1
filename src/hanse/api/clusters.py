"""`Cluster` of clusterregistry.k8s.io/v1alpha1: a member of the federation.

Cluster-scoped here, with a status of Hanse's own. Credentials are never in it: `spec.authInfo.controller` points to a
Secret that holds a kubeconfig.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import Key, Obj, dig, labels_of, name_of
from hanse.kube.resources import Resource

CLUSTERS = Resource("clusterregistry.k8s.io", "v1alpha1", "clusters", "Cluster", namespaced=False)


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the registry says about a member."""

    name: str
    labels: dict[str, str] = field(default_factory=dict)
    server: str = ""
    credentials: Key | None = None
    ready: bool = False
    offline: bool = False
    why: str = ""
    uid: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()

    @property
    def refusal(self) -> str:
        """Why no work may be placed there now; "" where it may."""
        if self.ready and not self.offline:
            return ""
        state = "offline" if self.offline else "not ready"
        return f"it is {state}: {self.why}" if self.why else f"it is {state}"


def parse_cluster(obj: Obj) -> Cluster:
    """Read a Cluster object."""
    endpoints = dig(obj, "spec", "kubernetesApiEndpoints", "serverEndpoints", default=[])
    secret = dig(obj, "spec", "authInfo", "controller", default={})
    conditions = dig(obj, "status", "conditions", default=[])
    credentials = None
    if secret.get("name"):
        credentials = Key(secret.get("namespace") or SYSTEM_NAMESPACE, secret["name"])
    return Cluster(
        name=name_of(obj),
        labels=dict(labels_of(obj)),
        server=endpoints[0].get("serverAddress", "") if endpoints else "",
        credentials=credentials,
        ready=is_true(conditions, "Ready"),
        offline=is_true(conditions, "Offline"),
        why=(find_condition(conditions, "Ready") or {}).get("message", ""),
        uid=dig(obj, "status", "clusterUID", default=""),
        region=dig(obj, "status", "region", default=""),
        zones=tuple(dig(obj, "status", "zones", default=())),
    )


def cluster_manifest(name: str, *, server: str, ca_bundle: str, secret: Key, labels: dict[str, str]) -> Obj:
    """Write a Cluster object; `ca_bundle` is base64."""
    endpoints: Obj = {"serverEndpoints": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server}]}
    if ca_bundle:
        endpoints["caBundle"] = ca_bundle
    return {
        "apiVersion": CLUSTERS.api_version,
        "kind": CLUSTERS.kind,
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "kubernetesApiEndpoints": endpoints,
            "authInfo": {"controller": {"kind": "Secret", "name": secret.name, "namespace": secret.namespace}},
        },
    }


def _text(description: str = "") -> dict[str, Any]:
    return {"type": "string", "description": description} if description else {"type": "string"}


def _reference(description: str) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": {"kind": _text(), "name": _text(), "namespace": _text()},
    }


_CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        "type": _text(),
        "status": _text(),
        "reason": _text(),
        "message": _text(),
        "lastHeartbeatTime": {"type": "string", "format": "date-time"},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    },
}

_SPEC = {
    "type": "object",
    "properties": {
        "kubernetesApiEndpoints": {
            "type": "object",
            "properties": {
                "caBundle": {"type": "string", "format": "byte", "description": "The CA of the API server, as PEM"},
                "serverEndpoints": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "clientCIDR": _text("Clients for whom this address is meant"),
                            "serverAddress": _text("Where the API server answers"),
                        },
                    },
                },
            },
        },
        "authInfo": {
            "type": "object",
            "properties": {
                "user": _reference("Where a user finds credentials"),
                "controller": _reference("Where Hanse finds credentials: a Secret with the key kubeconfig"),
            },
        },
    },
}

_STATUS = {
    "type": "object",
    "properties": {
        "conditions": {"type": "array", "items": _CONDITION},
        "region": _text("The region of its nodes"),
        "zones": {"type": "array", "items": _text(), "description": "The zones of its nodes, sorted"},
        "version": _text("The version of its API server"),
        "clusterUID": _text("What tells it from every other cluster: the uid of its kube-system namespace"),
        "capacity": {
            "type": "object",
            "description": "What its ready nodes can hold in all",
            "additionalProperties": _text(),
        },
        "nodes": {"type": "integer", "description": "How many of its nodes are ready"},
    },
}


def _column(name: str, kind: str, path: str, priority: int = 0) -> dict[str, Any]:
    return {"name": name, "type": kind, "jsonPath": path, "priority": priority}


CLUSTER_CRD: Obj = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "clusters.clusterregistry.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, the group belongs to the retired cluster registry"},
    },
    "spec": {
        "group": CLUSTERS.group,
        "scope": "Cluster",
        "names": {"plural": "clusters", "singular": "cluster", "kind": "Cluster", "listKind": "ClusterList"},
        "versions": [
            {
                "name": CLUSTERS.version,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    _column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
                    _column("Offline", "string", '.status.conditions[?(@.type=="Offline")].status'),
                    _column("Region", "string", ".status.region"),
                    _column("Version", "string", ".status.version"),
                    _column("Nodes", "integer", ".status.nodes"),
                    _column("Age", "date", ".metadata.creationTimestamp"),
                    _column("Server", "string", ".spec.kubernetesApiEndpoints.serverEndpoints[0].serverAddress", 1),
                    _column("Zones", "string", ".status.zones", 1),
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A Kubernetes cluster that is a member of the federation.",
                        "properties": {
                            "apiVersion": _text(),
                            "kind": _text(),
                            "metadata": {"type": "object"},
                            "spec": _SPEC,
                            "status": _STATUS,
                        },
                    }
                },
            }
        ],
    },
}
