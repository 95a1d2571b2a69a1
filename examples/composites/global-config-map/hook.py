"""GlobalConfigMap: a ConfigMap that is in every namespace, or in all that its selector matches."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]


def customize(request: Obj) -> Obj:
    """Ask to see the namespaces that match; no selector matches all."""
    selector = request["parent"]["spec"].get("namespaceSelector", {})
    return {"relatedResources": [{"apiVersion": "v1", "resource": "namespaces", "labelSelector": selector}]}


def sync(request: Obj) -> Obj:
    """Return the ConfigMap once for each namespace; one that is being deleted takes no new objects."""
    parent, namespaces = request["parent"], request["related"]["Namespace.v1"]
    children = [
        config_map(parent, name)
        for name, namespace in namespaces.items()
        if "deletionTimestamp" not in namespace["metadata"]
    ]
    return {"status": {"namespaces": len(children)}, "children": children}


def config_map(parent: Obj, namespace: str) -> Obj:
    """Make the ConfigMap of a namespace."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": parent["metadata"]["name"], "namespace": namespace},
        "data": parent["spec"]["data"],
    }
