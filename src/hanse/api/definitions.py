"""Writing the CustomResourceDefinition of a kind of Hanse's own: one version, served and stored."""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource


def definition(
    resource: Resource,
    schema: dict[str, Any],
    columns: list[dict[str, Any]],
    *,
    short: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
    status: bool = False,
    annotations: dict[str, str] | None = None,
) -> Obj:
    """Return the definition of a kind; `status` says that it has that subresource."""
    names: Obj = {
        "plural": resource.plural,
        "singular": resource.kind.lower(),
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
    }
    if short:
        names["shortNames"] = list(short)
    if categories:
        names["categories"] = list(categories)
    version: Obj = {"name": resource.version, "served": True, "storage": True}
    if status:
        version["subresources"] = {"status": {}}
    version |= {"additionalPrinterColumns": columns, "schema": {"openAPIV3Schema": schema}}
    metadata: Obj = {"name": resource.group_resource}
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": names,
            "versions": [version],
        },
    }


def column(name: str, kind: str, path: str, priority: int = 0) -> dict[str, Any]:
    """Return a column that `kubectl get` prints; with a priority above 0 only under `-o wide`."""
    shown = {"name": name, "type": kind, "jsonPath": path}
    return {**shown, "priority": priority} if priority else shown
