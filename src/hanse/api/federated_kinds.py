"""`FederatedKind` of hanse.dev/v1alpha1: one more kind that is federated, and what must be known of it.

Kubernetes' own workloads need none. A custom kind with replicas says where they are; what its members report can be
put together into one status by a few rules. With `enabled: false` a kind that is federated without being asked is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanse.api.definitions import column, definition
from hanse.kube.manifest import Obj, dig, is_deleting
from hanse.kube.resources import Resource

FEDERATED_KINDS = Resource("hanse.dev", "v1alpha1", "federatedkinds", "FederatedKind", namespaced=False)
# On a FederatedKind: it may go only when no object of the kind is held by the engine any more.
KIND_FINALIZER = "hanse.dev/let-go"

COMBINATIONS = ("Sum", "Max", "Min", "First", "Conditions")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaughtScale:
    """Where a custom kind keeps its replicas."""

    replicas: Path
    ready: Path
    available: Path


@dataclass(frozen=True, slots=True)
class TaughtField:
    """A field of the status, and how those of the members make up the federation's."""

    path: Path
    combine: str


@dataclass(frozen=True, slots=True)
class FederatedKind:
    """A kind to be federated; one that is not `enabled` is being let go."""

    resource: Resource
    enabled: bool = True
    scale: TaughtScale | None = None
    omit: tuple[Path, ...] = ()
    retain: tuple[Path, ...] = ()
    status: tuple[TaughtField, ...] = ()


def parse_federated_kind(obj: Obj) -> FederatedKind:
    """Read a FederatedKind; the API server has checked its form."""
    spec: Obj = obj["spec"]
    replicas = spec.get("replicas")
    return FederatedKind(
        resource=Resource(
            spec.get("group") or "",
            spec["version"],
            spec["plural"],
            spec["kind"],
            namespaced=spec.get("scope", "Namespaced") == "Namespaced",
        ),
        enabled=spec.get("enabled", True) is True and not is_deleting(obj),
        scale=_scale(replicas) if replicas else None,
        omit=tuple(_path(text) for text in spec.get("omit") or ()),
        retain=tuple(_path(text) for text in spec.get("retain") or ()),
        status=tuple(
            TaughtField(_path(entry["path"]), entry.get("combine", "Sum")) for entry in spec.get("status") or ()
        ),
    )


def federated_kind_manifest(resource: Resource, *, enabled: bool = True) -> Obj:
    """Return the object that has a kind federated, or not federated any more."""
    spec: Obj = {
        "group": resource.group,
        "version": resource.version,
        "kind": resource.kind,
        "plural": resource.plural,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
    }
    if not enabled:
        spec["enabled"] = False
    return {
        "apiVersion": FEDERATED_KINDS.api_version,
        "kind": FEDERATED_KINDS.kind,
        "metadata": {"name": resource.group_resource},
        "spec": spec,
    }


def _scale(fields: Obj) -> TaughtScale:
    return TaughtScale(
        replicas=_path(fields["path"]),
        ready=_path(dig(fields, "readyPath", default="status.readyReplicas")),
        available=_path(dig(fields, "availablePath", default="status.availableReplicas")),
    )


def _path(text: str) -> Path:
    return tuple(text.split("."))


def _field(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


# One part of a path is the name of a field; what names contain dots cannot be taught.
_PATH = {"type": "string", "maxLength": 253, "pattern": r"^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*$"}

_SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["version", "kind", "plural"],
    "properties": {
        "group": _field("The API group of the kind; empty for Kubernetes' core kinds.", default="", maxLength=253),
        "version": _field("The version in which its objects are read and written.", minLength=1, maxLength=63),
        "kind": _field("The kind, e.g. Widget.", minLength=1, maxLength=63),
        "plural": _field("The kind as it is in URLs, e.g. widgets.", minLength=1, maxLength=63),
        "scope": _field(
            "Whether its objects live in namespaces.", enum=["Namespaced", "Cluster"], default="Namespaced"
        ),
        "enabled": {
            "type": "boolean",
            "default": True,
            "description": "False lets the kind go: its copies stay in the clusters and are no longer Hanse's.",
        },
        "replicas": {
            "type": "object",
            "description": "Where a kind with replicas keeps them, so that they divide over clusters.",
            "required": ["path"],
            "properties": {
                "path": {**_PATH, "description": "How many are asked for, e.g. spec.replicas."},
                "readyPath": {**_PATH, "description": "How many are ready (default: status.readyReplicas)."},
                "availablePath": {
                    **_PATH,
                    "description": "How many are available (default: status.availableReplicas).",
                },
            },
        },
        "omit": {
            "type": "array",
            "maxItems": 32,
            "items": _PATH,
            "description": "Fields that stay on the federation because its server or its users set them for it alone.",
        },
        "retain": {
            "type": "array",
            "maxItems": 32,
            "items": _PATH,
            "description": "Fields that every cluster keeps as it has them, because something there sets them.",
        },
        "status": {
            "type": "array",
            "maxItems": 64,
            "description": "The fields of the federation's status, made from those of the clusters.",
            "items": {
                "type": "object",
                "required": ["path"],
                "properties": {
                    "path": {**_PATH, "description": "The field, e.g. status.readyReplicas."},
                    "combine": _field(
                        "Sum of numbers, Max or Min of numbers or times, First value that a cluster has, or Conditions "
                        "that hold where they hold everywhere.",
                        enum=list(COMBINATIONS),
                        default="Sum",
                    ),
                },
            },
        },
    },
}

FEDERATED_KIND_CRD = definition(
    FEDERATED_KINDS,
    {
        "type": "object",
        "description": "A kind whose plain objects Hanse carries into the member clusters.",
        "required": ["spec"],
        "properties": {"spec": _SPEC},
        "x-kubernetes-validations": [
            {
                "rule": "self.metadata.name == self.spec.plural + (self.spec.group == '' ? '' : '.' + self.spec.group)",
                "message": "metadata.name must be spec.plural and spec.group with a dot between them, "
                "e.g. widgets.example.com",
            }
        ],
    },
    [
        column("Kind", "string", ".spec.kind"),
        column("Version", "string", ".spec.version"),
        column("Enabled", "boolean", ".spec.enabled"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
    short=("fk",),
)
