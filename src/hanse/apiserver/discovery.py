"""Discovery: which groups, versions and kinds there are, in the old form and the aggregated one."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

import orjson

from hanse.apiserver.answers import Answer
from hanse.apiserver.negotiation import wants_aggregated_discovery
from hanse.apiserver.registry import Registry, Served
from hanse.kube.manifest import Obj

# The order in which upstream lists the verbs of custom kinds.
_CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def answer(registry: Registry, path: str, accept: str) -> Answer | None:
    """Answer /api, /apis and what lies below them down to a group's version; None for other paths."""
    parts = path.strip("/").split("/")
    if wants_aggregated_discovery(accept) and parts in (["api"], ["apis"]):
        return _aggregated(registry, legacy=parts == ["api"])
    match parts:
        case ["api"]:
            return _json({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
        case ["apis"]:
            groups = [_group(group, versions) for group, versions in registry.groups().items() if group]
            return _json({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        case ["api", version]:
            return _resources(registry, "", version)
        case ["apis", group]:
            versions = registry.groups().get(group)
            return _json({"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)}) if versions else None
        case ["apis", group, version]:
            return _resources(registry, group, version)
    return None


def _json(body: Obj) -> Answer:
    return Answer(200, orjson.dumps(body))


def _group(group: str, versions: list[str]) -> Obj:
    listed = [{"groupVersion": f"{group}/{version}", "version": version} for version in versions]
    return {"name": group, "versions": listed, "preferredVersion": listed[0]}


def _in_version(registry: Registry, group: str, version: str) -> list[Served]:
    found = [one for one in registry.all() if (one.resource.group, one.resource.version) == (group, version)]
    return sorted(found, key=lambda one: one.resource.plural)


def _resources(registry: Registry, group: str, version: str) -> Answer | None:
    found = _in_version(registry, group, version)
    if not found:
        return None
    body: Obj = {"kind": "APIResourceList", "groupVersion": f"{group}/{version}" if group else version}
    if group:
        body["apiVersion"] = "v1"
    body["resources"] = [entry for served in found for entry in _legacy_entries(served)]
    return _json(body)


def _legacy_entries(served: Served) -> Iterable[Obj]:
    resource = served.resource
    entry: Obj = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _CUSTOM_VERBS if served.custom else sorted(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if "get" in resource.verbs:
        entry["storageVersionHash"] = _storage_hash(served)
    yield entry
    # Custom kinds name status before scale.
    for name, part in sorted(served.subresources.items(), reverse=served.custom):
        below: Obj = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
        if part.group:
            below |= {"group": part.group, "version": part.version}
        yield {**below, "kind": part.kind, "verbs": sorted(part.verbs)}


# Kinds that upstream rests in another version than the one served: its hash is made from that one.
_RESTING = {
    ("events.k8s.io", "v1", "Event"): "/v1",
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): "autoscaling/v2",
    ("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy"): "admissionregistration.k8s.io/v1beta1",
    ("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding"): "admissionregistration.k8s.io/v1beta1",
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"): "apiextensions.k8s.io/v1beta1",
}


def _storage_hash(served: Served) -> str:
    resource = served.resource
    own = f"{resource.group}/{resource.version}"
    resting = _RESTING.get((resource.group, resource.version, resource.kind), own)
    digest = hashlib.sha256(f"{resting}/{resource.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def _aggregated(registry: Registry, *, legacy: bool) -> Answer:
    items = []
    for group, versions in registry.groups().items():
        if (group == "") != legacy:
            continue
        listed = [
            {
                "version": version,
                "resources": [_entry(served) for served in _in_version(registry, group, version)],
                "freshness": "Current",
            }
            for version in versions
        ]
        items.append({"metadata": {"name": group} if group else {}, "versions": listed})
    body = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
    return Answer(200, orjson.dumps(body), _AGGREGATED)


def _entry(served: Served) -> Obj:
    resource = served.resource
    group, version = (resource.group, resource.version) if served.custom else ("", "")
    entry: Obj = {
        "resource": resource.plural,
        "responseKind": {"group": group, "version": version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": sorted(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if served.subresources:
        entry["subresources"] = [
            {
                "subresource": name,
                "responseKind": {"group": part.group or group, "version": part.version or version, "kind": part.kind},
                "verbs": sorted(part.verbs),
            }
            for name, part in sorted(served.subresources.items())
        ]
    return entry
