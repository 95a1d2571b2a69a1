"""`FederatedKind` of hanse.dev/v1alpha1: one more kind that is federated, and what must be known of it.

Kubernetes' own workloads need none. A custom kind with replicas says where they are and how to tell that an object is
well; what its members report can be put together into one status by a few rules. Where the path of a field does not
say enough, a CEL expression does. With `enabled: false` a kind that is federated without being asked is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanse.api.cluster_kind import CONDITION
from hanse.api.definitions import column, definition
from hanse.kube.manifest import Obj, is_deleting
from hanse.kube.resources import Resource

FEDERATED_KINDS = Resource("hanse.dev", "v1alpha1", "federatedkinds", "FederatedKind", namespaced=False)
# On a FederatedKind: it may go only when no object of the kind is held by the engine any more.
KIND_FINALIZER = "hanse.dev/let-go"

COMBINATIONS = ("Sum", "Max", "Min", "First", "Conditions")
EXPRESSION_LENGTH = 2048
READY_PATH = ("status", "readyReplicas")
AVAILABLE_PATH = ("status", "availableReplicas")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaughtScale:
    """Where a custom kind keeps its replicas; an expression counts where a path is None or does not say enough.

    Where nothing is said of what is available, the kind's health says it, or its usual field.
    """

    replicas: Path
    ready: Path = READY_PATH
    available: Path | None = None
    ready_expression: str = ""
    available_expression: str = ""


@dataclass(frozen=True, slots=True)
class TaughtField:
    """A field of the status, and how those of the members make up the federation's; an `expression` counts first."""

    path: Path
    combine: str = "Sum"
    expression: str = ""


@dataclass(frozen=True, slots=True)
class FederatedKind:
    """A kind to be federated; one that is not `enabled` is being let go.

    `health` is the expression that holds for an object that is well.
    """

    resource: Resource
    enabled: bool = True
    scale: TaughtScale | None = None
    omit: tuple[Path, ...] = ()
    retain: tuple[Path, ...] = ()
    status: tuple[TaughtField, ...] = ()
    health: str = ""


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
            TaughtField(_path(entry["path"]), entry.get("combine", "Sum"), entry.get("expression", ""))
            for entry in spec.get("status") or ()
        ),
        health=spec.get("health", ""),
    )


def federated_kind_manifest(resource: Resource, *, enabled: bool = True, taught: Obj | None = None) -> Obj:
    """Return the object that has a kind federated, or not federated any more; `taught` are more fields of its spec."""
    spec: Obj = {
        "group": resource.group,
        "version": resource.version,
        "kind": resource.kind,
        "plural": resource.plural,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
    }
    if not enabled:
        spec["enabled"] = False
    spec |= taught or {}
    return {
        "apiVersion": FEDERATED_KINDS.api_version,
        "kind": FEDERATED_KINDS.kind,
        "metadata": {"name": resource.group_resource},
        "spec": spec,
    }


def _scale(fields: Obj) -> TaughtScale:
    ready, available = fields.get("readyPath"), fields.get("availablePath")
    return TaughtScale(
        replicas=_path(fields["path"]),
        ready=_path(ready) if ready else READY_PATH,
        available=_path(available) if available else None,
        ready_expression=fields.get("readyExpression", ""),
        available_expression=fields.get("availableExpression", ""),
    )


def _path(text: str) -> Path:
    return tuple(text.split("."))


def _field(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _either(one: str, other: str) -> dict[str, str]:
    return {"rule": f"!(has(self.{one}) && has(self.{other}))", "message": f"{one} and {other} exclude each other"}


# One part of a path is the name of a field; what names contain dots cannot be taught.
_PATH = {"type": "string", "maxLength": 253, "pattern": r"^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z][A-Za-z0-9_-]*)*$"}

# Written in CEL; nobody can compile it at admission, so the condition Understood says what is wrong with it.
_EXPRESSION = {"type": "string", "minLength": 1, "maxLength": EXPRESSION_LENGTH}

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
                "readyExpression": {
                    **_EXPRESSION,
                    "description": "How many are ready, in CEL over self, the object in a cluster.",
                },
                "availablePath": {
                    **_PATH,
                    "description": "How many are available (default: all where spec.health holds, and without it "
                    "status.availableReplicas).",
                },
                "availableExpression": {
                    **_EXPRESSION,
                    "description": "How many are available, in CEL over self, the object in a cluster.",
                },
            },
            "x-kubernetes-validations": [
                _either("readyPath", "readyExpression"),
                _either("availablePath", "availableExpression"),
            ],
        },
        "health": {
            **_EXPRESSION,
            "description": "What holds where an object is well, in CEL over self, the object in a cluster, e.g. "
            "self.status.phase == 'Ready'. Changes spread, and copies are given up, only where it holds.",
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
                        "that hold where they hold everywhere (default: Sum).",
                        enum=list(COMBINATIONS),
                    ),
                    "expression": {
                        **_EXPRESSION,
                        "description": "The field's value instead, in CEL over clusters, a list of maps with the name "
                        "and the status of each, and self, the federation's object.",
                    },
                },
                "x-kubernetes-validations": [_either("combine", "expression")],
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
        "properties": {
            "spec": _SPEC,
            "status": {
                "type": "object",
                "description": "Whether what the kind teaches could be understood.",
                "properties": {"conditions": {"type": "array", "items": CONDITION}},
            },
        },
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
        column("Understood", "string", '.status.conditions[?(@.type=="Understood")].status'),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
    short=("fk",),
    status=True,
)
