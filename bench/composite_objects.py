"""The objects of the bench of lambda controllers: parents, the ConfigMaps of each, the controller, and its hook."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import orjson

from bench.kube.raw import RawConnection
from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.kube.manifest import Obj
from hanse.kube.resources import CONFIGMAPS, Resource

PARENTS = Resource("bench.example.com", "v1", "shelves", "Shelf")
_MERGE_PATCH = "application/merge-patch+json"
HOOK = """
def sync(request):
    parent, seen = request["parent"], request["children"]["ConfigMap.v1"]
    name, spec = parent["metadata"]["name"], parent["spec"]
    children = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{name}-{number}", "labels": spec["selector"]["matchLabels"]},
            "data": {"text": spec["text"]},
        }
        for number in range(spec["children"])
    ]
    done = sum(child["data"]["text"] == spec["text"] for child in seen.values())
    return {"status": {"children": done}, "children": children}


def finalize(request):
    return {"finalized": not request["children"]["ConfigMap.v1"], "children": []}
"""


Verb = Callable[[RawConnection, Resource, str, Obj], bytes]


def parent(name: str, text: str, children: int) -> tuple[Resource, Obj]:
    """Return a parent that asks for so many children with this text."""
    spec = {"text": text, "children": children, "selector": {"matchLabels": {"shelf": name}}}
    metadata = {"name": name}
    return PARENTS, {"apiVersion": PARENTS.api_version, "kind": PARENTS.kind, "metadata": metadata, "spec": spec}


def family(name: str, text: str, children: int) -> Iterable[tuple[Resource, Obj]]:
    """Yield a parent and the children that its hook makes."""
    yield parent(name, text, children)
    for number in range(children):
        metadata = {"name": f"{name}-{number}", "labels": {"shelf": name}}
        yield CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}


def create(connection: RawConnection, resource: Resource, namespace: str, obj: Obj) -> bytes:
    """Return the request that makes an object."""
    return connection.prepare("POST", resource.path(namespace), orjson.dumps(obj))


def update(connection: RawConnection, resource: Resource, namespace: str, obj: Obj) -> bytes:
    """Return the request that changes what an object says."""
    path = resource.path(namespace, obj["metadata"]["name"])
    changed = {name: value for name, value in obj.items() if name in ("spec", "data")}
    return connection.prepare("PATCH", path, orjson.dumps(changed), _MERGE_PATCH)


def delete(connection: RawConnection, resource: Resource, namespace: str, obj: Obj) -> bytes:
    """Return the request that deletes an object."""
    return connection.prepare("DELETE", resource.path(namespace, obj["metadata"]["name"]))


def definition() -> Obj:
    """Return the definition of the parents' kind."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": PARENTS.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": PARENTS.group_resource},
        "spec": {
            "group": PARENTS.group,
            "scope": "Namespaced",
            "names": {"plural": PARENTS.plural, "singular": "shelf", "kind": PARENTS.kind, "listKind": "ShelfList"},
            "versions": [version],
        },
    }


def controller(*, finalizes: bool) -> Obj:
    """Return the controller of the parents, which holds them until their children are gone if it `finalizes`."""
    python = {"inline": HOOK}
    hooks = {"sync": {"python": python}, **({"finalize": {"python": python}} if finalizes else {})}
    rule = {"apiVersion": "v1", "resource": "configmaps", "updateStrategy": {"method": "InPlace"}}
    return {
        "apiVersion": COMPOSITE_CONTROLLERS.api_version,
        "kind": COMPOSITE_CONTROLLERS.kind,
        "metadata": {"name": "shelves"},
        "spec": {
            "parentResource": {"apiVersion": PARENTS.api_version, "resource": PARENTS.plural},
            "childResources": [rule],
            "hooks": hooks,
        },
    }
