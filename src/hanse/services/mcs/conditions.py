"""What a ServiceExport and a ServiceImport say of themselves, as conditions with the API's own reasons."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.conditions import condition
from hanse.kube.manifest import Obj
from hanse.services.mcs.exports import Export, Refusal
from hanse.services.mcs.merging import Conflict


def export_conditions(
    export: Export | Refusal, conflicts: Sequence[Conflict], in_the_way: Sequence[str], generation: int
) -> list[Obj]:
    """Return the conditions of a ServiceExport; `in_the_way` are clusters with somebody else's import of that name."""
    if isinstance(export, Refusal):
        return [
            condition("Valid", False, export.reason, export.message, generation=generation),
            condition("Ready", False, "Pending", "nothing is exported yet", generation=generation),
            condition("Conflict", False, "NoConflicts", generation=generation),
        ]
    ready = condition("Ready", True, "Exported", "every cluster with this namespace imports it", generation=generation)
    if in_the_way:
        told = (
            f"the ServiceImport of this name in {', '.join(in_the_way)} is somebody else's and is left alone; "
            "delete it there"
        )
        ready = condition("Ready", False, "Failed", told, generation=generation)
    return [
        condition("Valid", True, "Valid", generation=generation),
        ready,
        _conflict(conflicts, generation),
    ]


def _conflict(conflicts: Sequence[Conflict], generation: int) -> Obj:
    if not conflicts:
        return condition("Conflict", False, "NoConflicts", generation=generation)
    reason = ",".join(conflict.reason for conflict in conflicts)
    message = "; ".join(conflict.message for conflict in conflicts)
    return condition("Conflict", True, reason, message, generation=generation)


def import_condition(refusal: str, *, usable: bool) -> Obj:
    """Return the condition of a ServiceImport: usable, not yet, or not at all since the cluster refused an address."""
    if refusal:
        return condition("Ready", False, "IPFamilyNotSupported", refusal)
    if not usable:
        return condition("Ready", False, "Pending", "its address in this cluster has yet to be allocated")
    return condition("Ready", True, "Ready")
