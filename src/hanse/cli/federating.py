"""From plain objects to federated ones: pure, what `hanse federate` writes and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.kubefed.type_configs import FederatedType, plural_of
from hanse.api.names import PREFIX
from hanse.kube.manifest import Obj, annotations_of, controller_of, dig, labels_of, name_of, namespace_of
from hanse.kube.names import name_problems
from hanse.kube.resources import NAMESPACES, Resource, gvk
from hanse.native.kinds import is_federated, why_never
from hanse.native.rules import travelling
from hanse.native.template import without_nulls

# What other kinds' controllers make of an object, beside what can never be federated.
_MADE = frozenset({"controllerrevisions.apps", "csistoragecapacities.storage.k8s.io"})
_UNTOLD_ANNOTATIONS = ("kubectl.kubernetes.io/", "deployment.kubernetes.io/", PREFIX)


def federated_manifest(obj: Obj, federated: Resource) -> Obj:
    """Return the federated object that has a plain one in every cluster; a namespace's lives in the namespace."""
    metadata: Obj = {"name": name_of(obj)}
    namespace = name_of(obj) if gvk(obj) == ("", "v1", NAMESPACES.kind) else namespace_of(obj)
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": federated.api_version,
        "kind": federated.kind,
        "metadata": metadata,
        "spec": {"template": template_from(obj), "placement": {"clusterSelector": {"matchLabels": {}}}},
    }


def template_from(obj: Obj) -> Obj:
    """Return what of an object is the same in every cluster: not what names it, nor what its server gave to it."""
    body = {name: value for name, value in travelling(obj).items() if name not in ("apiVersion", "kind")}
    labels = {name: value for name, value in labels_of(obj).items() if name != "kubernetes.io/metadata.name"}
    return {**({"metadata": {"labels": labels}} if labels else {}), **without_nulls(body)}


def as_it_is(manifest: Obj, copies: Mapping[str, Obj | None]) -> Obj:
    """Return a federated object that leaves every cluster what it has: its copy of the plain object, or none."""
    spec = manifest["spec"]
    having = {cluster: copy for cluster, copy in sorted(copies.items()) if copy is not None}
    if len(having) < len(copies):
        spec = {**spec, "placement": {"clusters": [{"name": cluster} for cluster in having]}}
    changes = {cluster: list(_differences(spec["template"], copy, "")) for cluster, copy in having.items()}
    overrides = [{"clusterName": cluster, "clusterOverrides": each} for cluster, each in changes.items() if each]
    return {**manifest, "spec": {**spec, "overrides": overrides} if overrides else spec}


def _differences(template: Any, copy: Any, path: str) -> Iterator[Obj]:
    """Yield what a copy has differently; what it lacks, or has beside the template, is nobody's wish."""
    if isinstance(template, dict) and isinstance(copy, dict):
        for name in sorted(template.keys() & copy.keys()):
            step = name.replace("~", "~0").replace("/", "~1")
            yield from _differences(template[name], copy[name], f"{path}/{step}")
    elif isinstance(template, list) and isinstance(copy, list) and len(template) == len(copy):
        for place, (one, other) in enumerate(zip(template, copy, strict=True)):
            yield from _differences(one, other, f"{path}/{place}")
    elif template != copy:
        yield {"path": path, "value": copy}


def left_behind(obj: Obj) -> str:
    """Say what of an object a federated one cannot carry; "" if nothing."""
    lost = sorted(name for name in annotations_of(obj) if not name.startswith(_UNTOLD_ANNOTATIONS))
    if not lost:
        return ""
    return f"federated objects carry no annotations into clusters: {', '.join(lost)} stayed behind"


def guessed_type(obj: Obj) -> FederatedType:
    """Return the federated type of an object that is known from a file only, as KubeFed would have named it."""
    group, version, kind = gvk(obj)
    namespaced = bool(namespace_of(obj)) and kind != NAMESPACES.kind
    target = Resource(group, version, plural_of(kind), kind, namespaced=namespaced)
    return FederatedType(target, template_resource(FORM_D, target))


def kinds_within(resources: Iterable[Resource], skip: Sequence[str]) -> list[Resource]:
    """Return the kinds that may be in a namespace and be federated, each once in its group's preferred version.

    Left out are those that can never be federated, KubeFed's and Hanse's own, and those that `skip` names by plural,
    kind, short name, plural and group, or group.
    """
    unwanted = {word.strip().lower() for word in skip if word.strip()}
    found: dict[str, Resource] = {}
    for resource in resources:
        able = resource.namespaced and {"list", "create"} <= resource.verbs
        if able and not why_left_out(resource) and not unwanted & _names(resource):
            found.setdefault(resource.group_resource, resource)
    return list(found.values())


def why_left_out(resource: Resource) -> str:
    """Say why a kind is no content of a namespace that could be federated; "" where it is."""
    if resource.group == "extensions":
        return "its kinds live in other groups by now"
    if resource.group_resource in _MADE:
        return "controllers make them in every cluster"
    return why_never(resource)


def why_left(obj: Obj) -> str:
    """Say why an object of a namespace is not federated with the rest; "" where it is."""
    owner = controller_of(obj)
    if owner is not None:
        return f"{owner['kind']} {owner['name']} makes it in every cluster"
    if dig(obj, "metadata", "ownerReferences"):
        return "it belongs to another object, which clusters do not know"
    if name_problems(name_of(obj), "subdomain"):
        return "no federated object can have its name"
    if not is_federated(obj, ()):
        return "every cluster has its own, or it is marked to stay"
    return ""


def _names(resource: Resource) -> set[str]:
    names = {resource.plural, resource.singular, resource.kind.lower(), *resource.short_names, resource.group_resource}
    return (names | {resource.group}) - {""}
