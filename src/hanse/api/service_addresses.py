"""`ServiceAddresses` of hanse.dev/v1alpha1: where a Service of the federation is found, as was decided.

It is called as its Service is. Whoever leads clients to services reads it from the host, and needs no credentials of
any cluster for that. `hanse.services.addresses` writes it from a FederatedService and reads it into one.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column, definition
from hanse.kube.resources import Resource

SERVICE_ADDRESSES = Resource("hanse.dev", "v1alpha1", "serviceaddresses", "ServiceAddresses")

# On one that was mixed from those of an application's releases; nobody else decides about its Service.
MIXED_LABEL = "hanse.dev/mixed"
# On one that was mixed: to whom resolvers may still lead clients by answers that they keep, and until when.
LEAVING_ANNOTATION = "hanse.dev/leaving"

# On a Service of the federation: the addresses of a balancer in front of all clusters, separated by commas. Clients are
# led there in place of the clusters.
FRONT_ANNOTATION = "hanse.dev/global-address"
# On a Service of the federation: what it asks of Hanse's own balancers.
BALANCER_ANNOTATION = "hanse.dev/balancer"


def _listed(items: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "items": items, "description": description}


_PORT = record(
    {
        "name": text("Its name; a port without one has no SRV record"),
        "protocol": text("TCP, UDP or SCTP"),
        "port": {"type": "integer", "description": "Its number"},
    },
    required=["protocol", "port"],
)

_CLUSTER = record(
    {
        "name": text("The cluster"),
        "release": text("The release of an application, where several of them serve under one name"),
        "addresses": _listed(text(), "What clients anywhere reach the Service by"),
        "clusterIPs": _listed(text(), "What clients in that cluster reach it by"),
        "dead": _listed(
            text(), "Those of the addresses to which nobody is led: a majority of checkers calls them dead"
        ),
        "backends": {"type": "integer", "description": "How many endpoints are ready; absent where that is not known"},
        "serving": {"type": "boolean", "description": "Whether clients are led there"},
        "doubtful": {"type": "boolean", "description": "Whether they are only since nobody is known to serve better"},
        "why": text("Why they are not, or are nevertheless"),
        "weight": {"type": "integer", "description": "The share of clients that it should get beside others as near"},
        "asked": {"type": "integer", "description": "The weight that the TrafficTarget of its release asks for there"},
    },
    required=["name", "serving"],
)

SERVICE_ADDRESSES_CRD = definition(
    SERVICE_ADDRESSES,
    record(
        {
            "apiVersion": text(),
            "kind": text(),
            "metadata": {"type": "object"},
            "spec": record(
                {
                    "hostname": text("The name that clients are told"),
                    "published": {"type": "boolean", "description": "Whether it has names in DNS"},
                    "ttlSeconds": {"type": "integer", "description": "How long resolvers may keep an answer"},
                    "serving": {"type": "integer", "description": "How many clusters clients are led to"},
                    "front": _listed(text(), "The addresses of a balancer in front of all clusters: clients go there"),
                    "ports": _listed(_PORT, "The ports of the Service"),
                    "clusters": _listed(_CLUSTER, "The Service in every cluster that has it, in order of name"),
                },
                required=["published", "ttlSeconds"],
            ),
        },
        "Where a Service of the federation is found.",
        required=["spec"],
    ),
    [
        column("Hostname", "string", ".spec.hostname"),
        column("Serving", "integer", ".spec.serving"),
        column("Clusters", "string", ".spec.clusters[*].name", priority=1),
        column("TTL", "integer", ".spec.ttlSeconds", priority=1),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
)
