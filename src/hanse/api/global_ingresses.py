"""`GlobalIngress` of hanse.dev/v1alpha1: one entrance, kept by Hanse's own balancers, for an Ingress in many clusters.

`hanse ingress create` writes its spec, the control plane its status: where each Service of the rules is ready. It is
called as its load balancer is and is in the namespace of its Ingress, whose rules it repeats: a balancer reads it from
the host, and needs no credentials of any cluster for that.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column, definition
from hanse.kube.resources import Resource

GLOBAL_INGRESSES = Resource("hanse.dev", "v1alpha1", "globalingresses", "GlobalIngress")


def _listed(items: dict[str, Any], description: str) -> dict[str, Any]:
    return {"type": "array", "items": items, "description": description}


def _port(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "maximum": 65535, "description": description}


_BACKEND = {"service": text("The Service"), "port": text("Its port, by number or name")}

GLOBAL_INGRESS_CRD = definition(
    GLOBAL_INGRESSES,
    record(
        {
            "apiVersion": text(),
            "kind": text(),
            "metadata": {"type": "object"},
            "spec": record(
                {
                    "ingress": text("The Ingress, by the name that it has in every cluster"),
                    "address": text("Where clients reach the balancers, if they share an address"),
                    "listen": _port("The port of the balancers"),
                    "clusterPort": _port("The port of the clusters' own ingress controllers"),
                    "defaultBackend": record(_BACKEND, required=["service", "port"]),
                    "rules": _listed(
                        record(
                            {"host": text('"" is every host'), "path": text('"" is every path'), **_BACKEND},
                            required=["service", "port"],
                        ),
                        "Where requests go, as the Ingress says",
                    ),
                    "clusters": _listed(
                        record(
                            {
                                "name": text("The cluster"),
                                "addresses": _listed(text(), "What its own ingress controller is reached by"),
                            },
                            required=["name"],
                        ),
                        "The clusters behind the entrance, in order of name",
                    ),
                },
                required=["ingress", "clusters"],
            ),
            "status": record(
                {
                    "clusters": _listed(
                        record(
                            {
                                "name": text("The cluster"),
                                "addresses": _listed(text(), "What its ingress controller is reached by now"),
                                "missing": _listed(text(), "Services of the rules that are not ready there"),
                                "why": text("Why nobody is led there at all"),
                            },
                            required=["name"],
                        ),
                        "What is known of the clusters of the federation among them",
                    )
                }
            ),
        },
        "One entrance for an Ingress in many clusters.",
        required=["spec"],
    ),
    [
        column("Ingress", "string", ".spec.ingress"),
        column("Address", "string", ".spec.address"),
        column("Clusters", "string", ".spec.clusters[*].name"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
    categories=("hanse",),
    status=True,
)
