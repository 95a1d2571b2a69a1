"""`Piece` of hanse.dev/v1alpha1: one manifest that a front door keeps in some clusters.

An application's release is made of many objects of any kind, which exist nowhere on the host: each of them is a Piece,
rendered once and never changed. Which clusters have it, and with how many replicas, its front door says. A Piece holds
all that its object holds: one of a Secret is as secret as that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.definitions import column, definition
from hanse.kube.manifest import Key, Obj, name_of, namespace_of
from hanse.kube.resources import Resource

PIECES = Resource("hanse.dev", "v1alpha1", "pieces", "Piece")
# On a Piece and on what came of the same rendering: a digest of the whole of it.
RENDERING_ANNOTATION = "hanse.dev/rendering"
# On what commits a rendering: the names of all Pieces of it, separated by commas. No other Piece counts.
PIECES_ANNOTATION = "hanse.dev/pieces"

_ANYTHING: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_BOOLEAN = {"type": "boolean"}
_TEXTS = {"type": "object", "additionalProperties": text()}
_METADATA = {
    **_ANYTHING,
    "required": ["name"],
    "properties": {"name": text(minLength=1), "namespace": text(), "labels": _TEXTS, "annotations": _TEXTS},
}
_KIND = {"group": text(), "version": text(), "plural": text(), "kind": text(), "namespaced": _BOOLEAN}

PIECE_CRD = definition(
    PIECES,
    record(
        {
            "apiVersion": text(),
            "kind": text(),
            "metadata": {"type": "object"},
            "spec": record(
                {
                    "resource": record(_KIND, "The kind of the object", required=["version", "plural", "kind"]),
                    "template": {
                        **_ANYTHING,
                        "description": "What every chosen cluster gets",
                        "required": ["metadata"],
                        "properties": {"metadata": _METADATA},
                    },
                },
                required=["resource", "template"],
            ),
        },
        "One manifest that a front door keeps in some clusters.",
        required=["spec"],
    ),
    [
        column("Kind", "string", ".spec.resource.kind"),
        column("Object", "string", ".spec.template.metadata.name"),
        column("Application", "string", ".metadata.labels.shipper-app"),
        column("Release", "string", ".metadata.labels.shipper-release"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
    categories=("shipper",),
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A Piece as it is read: the kind of its object, its key in the clusters, and the manifest."""

    resource: Resource
    key: Key
    template: Obj


def parse_piece(obj: Obj) -> Piece:
    """Read a Piece."""
    spec = obj["spec"]
    kind, template = spec["resource"], spec["template"]
    resource = Resource(
        kind.get("group") or "",
        kind["version"],
        kind["plural"],
        kind["kind"],
        namespaced=bool(kind.get("namespaced", True)),
    )
    namespace = (namespace_of(template) or namespace_of(obj)) if resource.namespaced else ""
    return Piece(resource, Key(namespace, name_of(template)), template)


def piece_spec(resource: Resource, template: Obj) -> Obj:
    """Return the spec of the Piece of a manifest."""
    kind = {
        "group": resource.group,
        "version": resource.version,
        "plural": resource.plural,
        "kind": resource.kind,
        "namespaced": resource.namespaced,
    }
    return {"resource": kind, "template": template}
