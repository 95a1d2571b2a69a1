"""What a namespace that ends says of what is left in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hanse.kube.manifest import Obj


def remaining_conditions(remains: Mapping[str, Sequence[Obj]], had: Sequence[Obj], now: str) -> list[Obj]:
    """Return a terminating namespace's conditions; one that says the same as before keeps its time.

    `remains` are the objects that are left, by resource and group.
    """
    counted = {resource: len(left) for resource, left in remains.items()}
    held = Counter(
        finalizer for left in remains.values() for obj in left for finalizer in obj["metadata"].get("finalizers") or ()
    )
    resources = ", ".join(f"{name} has {count} resource instances" for name, count in sorted(counted.items()))
    finalizers = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(held.items()))
    told = [
        _condition("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
        _condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        _condition(
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        _remaining("NamespaceContentRemaining", "SomeResourcesRemain", f"Some resources are remaining: {resources}")
        if resources
        else _condition("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
        _remaining(
            "NamespaceFinalizersRemaining",
            "SomeFinalizersRemain",
            f"Some content in the namespace has finalizers remaining: {finalizers}",
        )
        if finalizers
        else _condition(
            "NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"
        ),
    ]
    return [_timed(one, had, now) for one in told]


def _condition(kind: str, reason: str, message: str, status: str = "False") -> Obj:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _remaining(kind: str, reason: str, message: str) -> Obj:
    return _condition(kind, reason, message, "True")


def _timed(condition: Obj, had: Sequence[Obj], now: str) -> Obj:
    before = next((one for one in had if one.get("type") == condition["type"]), None)
    same = before is not None and all(before.get(name) == value for name, value in condition.items())
    time = before["lastTransitionTime"] if same and before else now
    return {"type": condition["type"], "status": condition["status"], "lastTransitionTime": time, **condition}
