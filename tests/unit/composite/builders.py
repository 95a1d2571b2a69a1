"""Small parents, children and controllers for tests of the room."""

from hanse.composite.preparing import Child, prepared
from hanse.composite.spec import (
    ChildRule,
    ControllerSpec,
    Hooks,
    KindRef,
    Method,
    ParentRule,
    Rollout,
    Sort,
    StatusCheck,
)
from hanse.kube.resources import CONFIGMAPS, NODES, PODS, SERVICES, Resource

SETS = Resource("ctl.example.com", "v1", "catsets", "CatSet")
READY = StatusCheck("Ready", "True")


def controller(sort=Sort.COMPOSITE, *, method=Method.ON_DELETE, **changes) -> ControllerSpec:
    return ControllerSpec(
        sort,
        "cats",
        parents=(ParentRule(KindRef("ctl.example.com/v1", "catsets")),),
        children=tuple(ChildRule(KindRef(kind.api_version, kind.plural), method) for kind in (PODS, CONFIGMAPS)),
        hooks=Hooks(),
        **changes,
    )


def rules(method=Method.ON_DELETE, *, checks=(), kinds=(PODS,), **rollout) -> dict[Resource, ChildRule]:
    return {
        kind: ChildRule(KindRef(kind.api_version, kind.plural), method, checks, Rollout(**rollout)) for kind in kinds
    }


def catset(name="cats", namespace="shop", *, uid="u-cats", selector=None, deleting=False, **spec):
    metadata = {"name": name, "uid": uid, "generation": 1}
    if namespace:
        metadata["namespace"] = namespace
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {
        "apiVersion": "ctl.example.com/v1",
        "kind": "CatSet",
        "metadata": metadata,
        "spec": {"selector": {"matchLabels": {"app": "cats"}} if selector is None else selector, **spec},
    }


def pod(name="cat-0", namespace="shop", *, labels=None, owner=None, **changes):
    metadata = {"name": name, "labels": {"app": "cats"} if labels is None else labels}
    if namespace:
        metadata["namespace"] = namespace
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "X", "name": "x", "uid": owner, "controller": True, "blockOwnerDeletion": True}
        ]
    metadata |= changes.pop("metadata", {})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"image": "cat:1"}, **changes}


def children(*manifests, parent=None, kinds=(PODS, CONFIGMAPS, SERVICES, NODES), spec=None) -> list[Child]:
    found = prepared(manifests, parent or catset(), spec or controller(), kinds)
    assert isinstance(found, list), found
    return found
