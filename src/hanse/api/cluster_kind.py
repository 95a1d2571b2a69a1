"""How the host's API server is told of `Cluster`: its schema, its columns, and what it refuses.

Upstream's shape of the retired cluster registry, with Hanse's status, and two fields for placement beside it.
"""

from __future__ import annotations

from typing import Any

from hanse.api.clusters import CLUSTERS
from hanse.api.definitions import column, definition

# A member's name becomes part of DNS names and of objects' names: an RFC 1035 label, as federation v1 demanded.
CLUSTER_NAME_PATTERN = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
CLUSTER_NAME_LENGTH = 63
_CIDR_PATTERN = "^(|[0-9.]+/[0-9]{1,2}|[0-9a-fA-F:.]+/[0-9]{1,3})$"


def text(description: str = "", **rules: object) -> dict[str, Any]:
    """Return the schema of a string."""
    return {"type": "string", **({"description": description} if description else {}), **rules}


def record(properties: dict[str, Any], description: str = "", **rules: object) -> dict[str, Any]:
    """Return the schema of a mapping with these fields."""
    described = {"description": description} if description else {}
    return {"type": "object", **described, "properties": properties, **rules}


def _reference(description: str) -> dict[str, Any]:
    return record({"kind": text(), "name": text(), "namespace": text()}, description)


CONDITION = record(
    {
        "type": text(),
        "status": text(),
        "reason": text(),
        "message": text(),
        "lastHeartbeatTime": text(format="date-time"),
        "lastTransitionTime": text(format="date-time"),
    },
    required=["type", "status"],
)

_TAINT = record(
    {
        "key": text("What is the matter", minLength=1),
        "value": text(),
        "effect": text("NoSchedule: nothing new; NoExecute: nor what is there", enum=["NoSchedule", "NoExecute"]),
        "timeAdded": text("Since when; tolerations with seconds count from here", format="date-time"),
    },
    required=["key", "effect"],
)

_ADDRESS = record(
    {
        "clientCIDR": text("Clients for whom this address is meant; empty means all", pattern=_CIDR_PATTERN),
        "serverAddress": text("Where the API server answers; https:// where it names no scheme"),
    }
)

_SPEC = record(
    {
        "kubernetesApiEndpoints": record(
            {
                "caBundle": text("The CA of the API server, as PEM", format="byte"),
                "serverEndpoints": {"type": "array", "items": _ADDRESS},
            },
            "How to reach it: the longest clientCIDR that fits is tried first, then the others that fit",
        ),
        "authInfo": record(
            {
                "user": _reference("Where a user finds credentials"),
                "controller": _reference("Where Hanse finds credentials: a Secret, never a credential itself"),
            }
        ),
        "unschedulable": {"type": "boolean", "description": "Nothing new is placed there (hanse clusters cordon)"},
        "taints": {"type": "array", "items": _TAINT, "description": "What keeps away all that does not tolerate it"},
    }
)

_AMOUNTS = {"type": "object", "additionalProperties": text()}

CLUSTER_STATUS = record(
    {
        "conditions": {"type": "array", "items": CONDITION},
        "region": text("The region of its nodes"),
        "zones": {"type": "array", "items": text(), "description": "The zones of its nodes, sorted"},
        "version": text("The version of its API server"),
        "clusterUID": text("What tells it from every other cluster: the uid of its kube-system namespace"),
        "capacity": {**_AMOUNTS, "description": "What its ready nodes can hold in all"},
        "free": {**_AMOUNTS, "description": "What its schedulable nodes have left, within a twentieth of capacity"},
        "nodes": {"type": "integer", "description": "How many of its nodes are ready"},
    }
)

CLUSTER_CRD = definition(
    CLUSTERS,
    record(
        {
            "apiVersion": text(),
            "kind": text(),
            "metadata": record({"name": text(pattern=CLUSTER_NAME_PATTERN, maxLength=CLUSTER_NAME_LENGTH)}),
            "spec": _SPEC,
            "status": CLUSTER_STATUS,
        },
        "A Kubernetes cluster that is a member of the federation.",
    ),
    [
        column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
        column("Offline", "string", '.status.conditions[?(@.type=="Offline")].status'),
        column("Region", "string", ".status.region"),
        column("Version", "string", ".status.version"),
        column("Nodes", "integer", ".status.nodes"),
        column("Age", "date", ".metadata.creationTimestamp"),
        column("Server", "string", ".spec.kubernetesApiEndpoints.serverEndpoints[0].serverAddress", 1),
        column("Zones", "string", ".status.zones", 1),
        column("Cordoned", "boolean", ".spec.unschedulable", 1),
    ],
    status=True,
    annotations={"api-approved.kubernetes.io": "unapproved, the group belongs to the retired cluster registry"},
)
