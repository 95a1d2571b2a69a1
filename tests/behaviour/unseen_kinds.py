"""Three custom kinds of different shapes, as somebody brings them along who has only `hanse enable`."""

from __future__ import annotations

import json
from typing import Any

from hanse.kube.manifest import dig
from hanse.kube.patches.json_patch import apply_json_patch
from hanse.kube.resources import CRDS, Resource
from tests.e2e.federation import MEMBERS, Federation, Refused, get
from tests.kubernetes.real import KubectlError, wait_until

PATIENCE_SECONDS = 60.0
GROUP = "unseen.example.com"
KETTLES = Resource(GROUP, "v1", "kettles", "Kettle")
"""In namespaces, with a status that its own controller writes."""
HARBOURS = Resource(GROUP, "v2beta1", "harbours", "Harbour", namespaced=False)
"""Of the whole cluster, without a status and without a spec."""
CREWS = Resource(GROUP, "v1", "crews", "Crew")
"""With its replicas where nobody looks for them."""
CREW_SIZE = ("spec", "pool", "size")

_HOME = "default"
_TEXT = {"type": "string"}
_KETTLE = {
    "spec": {
        "type": "object",
        "required": ["litres"],
        "properties": {"litres": {"type": "integer"}, "label": {**_TEXT, "default": "plain"}},
    },
    "status": {"type": "object", "properties": {"celsius": {"type": "integer"}}},
}
_HARBOUR = {
    "depth": {"x-kubernetes-int-or-string": True},
    "berths": {"type": "array", "items": {"type": "object", "properties": {"name": _TEXT, "length": _TEXT}}},
}
_CREW = {
    "spec": {
        "type": "object",
        "properties": {
            "pool": {"type": "object", "properties": {"size": {"type": "integer"}, "tag": _TEXT}},
        },
    },
    "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
}


def _definition(kind: Resource, properties: dict[str, Any], **version: Any) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    names = {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind, "listKind": f"{kind.kind}List"}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": kind.group_resource},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": names,
            "versions": [{"name": kind.version, "served": True, "storage": True, "schema": schema, **version}],
        },
    }


DEFINITIONS = (
    _definition(KETTLES, _KETTLE, subresources={"status": {}}),
    _definition(HARBOURS, _HARBOUR),
    _definition(
        CREWS,
        _CREW,
        subresources={
            "status": {},
            "scale": {"specReplicasPath": ".spec.pool.size", "statusReplicasPath": ".status.size"},
        },
    ),
)
BODIES: dict[Resource, dict[str, Any]] = {
    KETTLES: {"spec": {"litres": 2}},
    HARBOURS: {"depth": "12m", "berths": [{"name": "north", "length": "90m"}]},
    CREWS: {"spec": {"pool": {"size": 6, "tag": "red"}}},
}
OVERRIDES: dict[Resource, tuple[str, Any]] = {
    KETTLES: ("/spec/litres", 5),
    HARBOURS: ("/berths/0/name", "south"),
    CREWS: ("/spec/pool/size", 9),
}
"""What one cluster has otherwise: where, and what."""


def named(kind: Resource, name: str) -> dict[str, str]:
    """Return an object's metadata."""
    return {"name": name, "namespace": _HOME} if kind.namespaced else {"name": name}


def plain(kind: Resource, name: str = "plain") -> dict[str, Any]:
    """Return an object as somebody writes it."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": named(kind, name), **BODIES[kind]}


def federated(kind: Resource, other: str, name: str = "held") -> dict[str, Any]:
    """Return an object that goes everywhere, and has something else in one cluster."""
    path, value = OVERRIDES[kind]
    return {
        "apiVersion": "types.kubefed.io/v1beta1",
        "kind": f"Federated{kind.kind}",
        "metadata": named(kind, name),
        "spec": {
            "template": BODIES[kind],
            "placement": {"clusterSelector": {}},
            "overrides": [{"clusterName": other, "clusterOverrides": [{"path": path, "value": value}]}],
        },
    }


def kinds_that_nobody_has_seen_federate_once_they_are_enabled(federation: Federation) -> None:
    """Each kind is enabled by its command alone; then plain and federated objects of it reach every cluster."""
    served = ("crd/federatedtypeconfigs.core.kubefed.io", "--for=create", f"--timeout={PATIENCE_SECONDS:.0f}s")
    federation.kubectl("federation", "wait", *served)
    _create(federation, *DEFINITIONS)
    wait_until(lambda: _are_served(federation), seconds=PATIENCE_SECONDS, what="the three kinds are served")
    federation.hanse("enable", "customresourcedefinitions")
    for kind in (KETTLES, HARBOURS):
        assert f"federated{kind.plural}.types.kubefed.io created" in federation.hanse("enable", kind.plural)
    federation.hanse("enable", CREWS.plural, "--replicas-path", ".".join(CREW_SIZE))
    federation.renew_rights()

    first, *_, other = MEMBERS
    objects = [manifest for kind in BODIES for manifest in (plain(kind), federated(kind, other))]
    _create(federation, *objects)
    wait_until(lambda: _overridden(federation, first, other), seconds=PATIENCE_SECONDS, what="overrides in their place")
    wait_until(lambda: _sizes(federation, "plain") == [2, 2, 2], seconds=PATIENCE_SECONDS, what="a crew of six divided")
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    federation.kubectl("federation", "delete", "--filename=-", "--timeout=180s", input=listed)
    assert [_found(federation, member, CREWS, "held") for member in MEMBERS] == [None, None, None]


def _create(federation: Federation, *objects: dict[str, Any]) -> None:
    """Create objects; kubectl need not read the schemas of a hundred kinds for it, which the server checks anyway."""
    listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    federation.kubectl("federation", "create", "--validate=false", "--filename=-", input=json.dumps(listed))


def _are_served(federation: Federation) -> bool:
    names = federation.kubectl("federation", "api-resources", f"--api-group={GROUP}", "--output=name").split()
    return {kind.group_resource for kind in BODIES} <= set(names)


def _overridden(federation: Federation, first: str, other: str) -> bool:
    """Tell whether one cluster has every template as written, and the other its own values."""
    for kind, (path, value) in OVERRIDES.items():
        written: Any = plain(kind)
        changed = apply_json_patch(written, [{"op": "replace", "path": path, "value": value}])
        for member, wanted in ((first, written), (other, changed)):
            found = _found(federation, member, kind, "held")
            if found is None or not all(_holds(wanted[field], found.get(field)) for field in BODIES[kind]):
                return False
    return True


def _holds(wanted: Any, found: Any) -> bool:
    """Tell whether everything that was asked for is there; servers add defaults."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(_holds(value, found.get(name)) for name, value in wanted.items())
    return bool(wanted == found)


def _sizes(federation: Federation, name: str) -> list[Any]:
    return [dig(_found(federation, member, CREWS, name), *CREW_SIZE) for member in MEMBERS]


def _found(federation: Federation, member: str, kind: Resource, name: str) -> Any:
    namespace = [f"--namespace={_HOME}"] if kind.namespaced else []
    try:
        return get(federation, member, kind.group_resource, name, *namespace)
    except (Refused, KubectlError):
        return None
