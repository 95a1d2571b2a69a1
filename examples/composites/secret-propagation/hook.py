"""SecretPropagation: one Secret, copied into every namespace with the labels that its parent asks for."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]


def customize(request: Obj) -> Obj:
    """Ask to see the one Secret, and the namespaces that match: by its rights a controller might see far more."""
    spec = request["parent"]["spec"]
    return {
        "relatedResources": [
            {
                "apiVersion": "v1",
                "resource": "secrets",
                "namespace": spec["sourceNamespace"],
                "names": [spec["sourceName"]],
            },
            {"apiVersion": "v1", "resource": "namespaces", "labelSelector": spec["namespaceSelector"]},
        ]
    }


def sync(request: Obj) -> Obj:
    """Return a copy of the Secret for every namespace that matches; without a source there are no copies."""
    home, related = request["parent"]["spec"]["sourceNamespace"], request["related"]
    namespaces = [
        name
        for name, namespace in related["Namespace.v1"].items()
        if name != home and "deletionTimestamp" not in namespace["metadata"]
    ]
    sources = list(related["Secret.v1"].values())
    copies = [copy(source, name) for source in sources for name in namespaces]
    return {"status": {"sourceFound": bool(sources), "copies": len(copies)}, "children": copies}


def copy(source: Obj, namespace: str) -> Obj:
    """Make the copy for a namespace; nothing of the Secret is ever in a status or an event."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": source["metadata"]["name"], "namespace": namespace},
        "type": source.get("type", "Opaque"),
        "data": source.get("data", {}),
    }
