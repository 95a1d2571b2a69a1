"""ConfigMapPropagation: one ConfigMap, copied into the namespaces that are named; what it says, its copies say."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]


def customize(request: Obj) -> Obj:
    """Ask to see the source and the namespaces, and to be called again when one of them changes."""
    spec = request["parent"]["spec"]
    return {
        "relatedResources": [
            {
                "apiVersion": "v1",
                "resource": "configmaps",
                "namespace": spec["sourceNamespace"],
                "names": [spec["sourceName"]],
            },
            {"apiVersion": "v1", "resource": "namespaces", "names": spec["targetNamespaces"]},
        ]
    }


def sync(request: Obj) -> Obj:
    """Return a copy of the source for every namespace that there is; without a source there are no copies."""
    spec, related = request["parent"]["spec"], request["related"]
    sources = list(related["ConfigMap.v1"].values())
    namespaces = [name for name in spec["targetNamespaces"] if is_open(related["Namespace.v1"].get(name))]
    copies = [copy(source, name) for source in sources for name in namespaces if name != spec["sourceNamespace"]]
    missing = [name for name in spec["targetNamespaces"] if name not in namespaces]
    return {
        "status": {"sourceFound": bool(sources), "copies": len(copies), "missingNamespaces": missing},
        "children": copies,
    }


def is_open(namespace: Obj | None) -> bool:
    """Tell whether something can be created in a namespace: it is there, and is not being deleted."""
    return namespace is not None and "deletionTimestamp" not in namespace["metadata"]


def copy(source: Obj, namespace: str) -> Obj:
    """Make the copy for a namespace."""
    content: Obj = {field: source[field] for field in ("data", "binaryData") if field in source}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": source["metadata"]["name"], "namespace": namespace},
        **content,
    }
