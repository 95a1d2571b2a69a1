"""Which kinds the children of a kind are of: what Kubernetes' own controllers make, and what lambda controllers do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS, DECORATOR_CONTROLLERS, MAP_CONTROLLERS
from hanse.api.placed_children import PLACED_CHILDREN
from hanse.composite.spec import KindRef
from hanse.kube.client import Client
from hanse.kube.errors import Forbidden, NotFound
from hanse.kube.manifest import Obj
from hanse.kube.resources import PODS, REPLICASETS, Resource

JOBS = Resource("batch", "v1", "jobs", "Job")
# What controllers make, by the kinds that have such controllers; a pod has no children that anybody asks for.
_BUILT_IN: dict[str, tuple[Resource, ...]] = {
    "Deployment": (REPLICASETS, PODS),
    "ReplicaSet": (PODS,),
    "ReplicationController": (PODS,),
    "StatefulSet": (PODS,),
    "DaemonSet": (PODS,),
    "CronJob": (JOBS, PODS),
    "Job": (PODS,),
}
_CONTROLLERS = (COMPOSITE_CONTROLLERS, DECORATOR_CONTROLLERS, MAP_CONTROLLERS)

# The kinds of children by the kind of the parent, both as controllers name them.
Making = Mapping[KindRef, Sequence[KindRef]]


def is_of_kubernetes(resource: Resource) -> bool:
    """Tell whether Kubernetes' own controllers make the children of a kind, which they do only in members."""
    return resource.kind in _BUILT_IN


async def offspring_of(client: Client, resource: Resource) -> tuple[Resource, ...]:
    """Return the kinds of everything that can descend from an object of a kind in one cluster."""
    if is_of_kubernetes(resource):
        return _BUILT_IN[resource.kind]
    made = making(await stored_controllers(client))
    served = {_ref(kind): kind for kind in await client.discovery.resources()} if _ref(resource) in made else {}
    found: dict[Resource, None] = {}
    waiting = [resource]
    while waiting:
        parent = waiting.pop(0)
        children = [served[ref] for ref in made.get(_ref(parent), ()) if ref in served]
        if children and _ref(PLACED_CHILDREN) in served:
            # What is in other clusters is kept so on the federation.
            children.append(PLACED_CHILDREN)
        for kind in (*children, *_BUILT_IN.get(parent.kind, ())):
            if kind not in found:
                found[kind] = None
                waiting.append(kind)
    return tuple(found)


def making(controllers: Sequence[Obj]) -> Making:
    """Return what lambda controllers make of which parents."""
    found: dict[KindRef, list[KindRef]] = {}
    for controller in controllers:
        spec = controller.get("spec") or {}
        children = [*_refs(spec, "childResources"), *_refs(spec, "attachments"), *_refs(spec, "outputResources")]
        for parent in parents_of(controller):
            found.setdefault(parent, []).extend(children)
    return found


def parents_of(controller: Obj) -> list[KindRef]:
    """Return the kinds that a lambda controller is for."""
    spec = controller.get("spec") or {}
    return [_named(spec["parentResource"])] if spec.get("parentResource") else [*_refs(spec, "resources")]


async def stored_controllers(client: Client) -> list[Obj]:
    """Return the lambda controllers of a cluster; where they are not served, or not for Hanse, there are none."""
    found: list[Obj] = []
    for kind in _CONTROLLERS:
        try:
            found += [kind.name_kind(obj) for obj in (await client.list(kind)).items]
        except (NotFound, Forbidden):
            continue
    return found


def _refs(spec: Obj, field: str) -> Iterator[KindRef]:
    return (_named(rule) for rule in spec.get(field) or ())


def _named(rule: Obj) -> KindRef:
    return KindRef(str(rule.get("apiVersion", "")), str(rule.get("resource", "")))


def _ref(kind: Resource) -> KindRef:
    return KindRef(kind.api_version, kind.plural)
