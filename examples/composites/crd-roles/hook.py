"""CRDRoles: for a custom kind, the ClusterRoles that let the usual roles `view` and `edit` reach its objects.

examples.hanse.dev/roles: "view,edit"       on the CustomResourceDefinition: which of the two it shall have
"""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

ROLES = "examples.hanse.dev/roles"
VERBS = {
    "view": ["get", "list", "watch"],
    "edit": ["create", "delete", "deletecollection", "patch", "update"],
}


def sync(request: Obj) -> Obj:
    """Return one ClusterRole for each word of the annotation; a word that goes takes its ClusterRole along."""
    definition = request["object"]
    words = definition["metadata"]["annotations"][ROLES].replace(" ", "").split(",")
    return {"attachments": [cluster_role(definition, word) for word in words if word]}


def cluster_role(definition: Obj, word: str) -> Obj:
    """Make the ClusterRole that Kubernetes adds to the role `view` or `edit` by its label."""
    names = definition["spec"]["names"]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": f"{definition['metadata']['name']}-{word}",
            "labels": {f"rbac.authorization.k8s.io/aggregate-to-{word}": "true"},
        },
        "rules": [
            {
                "apiGroups": [definition["spec"]["group"]],
                "resources": [names["plural"], *subresources(definition)],
                "verbs": VERBS[word],
            }
        ],
    }


def subresources(definition: Obj) -> list[str]:
    """Return what belongs to the objects beside themselves: their scale, where any version has one."""
    has_scale = any("scale" in version.get("subresources", {}) for version in definition["spec"]["versions"])
    return [f"{definition['spec']['names']['plural']}/scale"] if has_scale else []
