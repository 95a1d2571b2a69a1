"""`HeldChange` of hanse.dev/v1alpha1: a change that reaches too far to be made without a person's word.

One for each front door, while it lasts. Setting `spec.approved` lets the change go on, for as many objects and from
those clusters as the spec says; undoing the change makes the object go away.
"""

from __future__ import annotations

from hanse.api.definitions import column, definition
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource

HELD_CHANGES = Resource("hanse.dev", "v1alpha1", "heldchanges", "HeldChange", namespaced=False)

_COUNT = {"type": "integer", "format": "int64", "minimum": 0}

_SPEC: Obj = {
    "type": "object",
    "description": "What would happen",
    "required": ["objects", "of", "clusters", "approved"],
    "properties": {
        "objects": {**_COUNT, "description": "How many objects would leave a cluster that has them"},
        "of": {**_COUNT, "description": "Of how many that the front door carries"},
        "clusters": {
            "type": "array",
            "description": "The clusters that they would leave",
            "items": {
                "type": "object",
                "required": ["name", "objects"],
                "properties": {"name": {"type": "string"}, "objects": _COUNT},
            },
        },
        "examples": {"type": "array", "description": "The first of them", "items": {"type": "string"}},
        "what": {"type": "string", "description": "What would happen, where no objects would leave clusters"},
        "approved": {"type": "boolean", "description": "Whether a person has said that this shall happen"},
    },
}


HELD_CHANGE_CRD = definition(
    HELD_CHANGES,
    {
        "type": "object",
        "description": "A change that waits for a person's approval.",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": _SPEC,
        },
    },
    [
        column("Objects", "integer", ".spec.objects"),
        column("Of", "integer", ".spec.of"),
        column("Clusters", "string", ".spec.clusters[*].name"),
        column("Approved", "boolean", ".spec.approved"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ],
    categories=("hanse",),
)


def held_change(name: str, spec: Obj) -> Obj:
    """Write a HeldChange."""
    return {
        "apiVersion": HELD_CHANGES.api_version,
        "kind": HELD_CHANGES.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
