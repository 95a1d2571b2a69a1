"""Conditions: the one way to say in a status what holds, since when and why."""

from __future__ import annotations

from hanse.kube.manifest import Obj


def condition(kind: str, status: bool | None, reason: str, message: str = "", *, generation: int | None = None) -> Obj:
    """Make a condition; `None` as status means Unknown."""
    made: Obj = {
        "type": kind,
        "status": "Unknown" if status is None else str(bool(status)),
        "reason": reason,
        "message": message,
    }
    if generation is not None:
        made["observedGeneration"] = generation
    return made


def find_condition(conditions: list[Obj] | None, kind: str) -> Obj | None:
    """Return the condition of a type, None where there is none."""
    return next((entry for entry in conditions or () if entry.get("type") == kind), None)


def is_true(conditions: list[Obj] | None, kind: str) -> bool:
    """Tell whether a condition is present and True."""
    found = find_condition(conditions, kind)
    return found is not None and found.get("status") == "True"


def merge_conditions(old: list[Obj] | None, new: list[Obj], now: str) -> list[Obj]:
    """Bring conditions up to date; a transition time moves only when the status does.

    Conditions of other types stay as they are and keep their places.
    """
    merged = [dict(entry) for entry in old or ()]
    for entry in new:
        before = find_condition(merged, entry["type"])
        if before is None:
            merged.append({**entry, "lastTransitionTime": now})
            continue
        since = before.get("lastTransitionTime", now) if before.get("status") == entry["status"] else now
        before.clear()
        before.update({**entry, "lastTransitionTime": since})
    return merged
