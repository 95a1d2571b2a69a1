"""How a rollout shows in the status of its parent."""

from __future__ import annotations

from typing import Any

from hanse.kube.conditions import find_condition, merge_conditions
from hanse.kube.manifest import Obj


def with_condition(status: Obj | None, told: Obj, before: Obj | None, now: str) -> Obj:
    """Return the status that a hook gave with one condition of ours, in place of the hook's own of that type.

    `before` is the status that is stored, from which it is known since when the condition holds.
    """
    known = find_condition(_conditions(before), told["type"])
    entry = merge_conditions([known] if known else [], [told], now)[0]
    conditions = _conditions(status)
    if find_condition(conditions, told["type"]) is None:
        return {**(status or {}), "conditions": [*conditions, entry]}
    return {
        **(status or {}),
        "conditions": [entry if each.get("type") == told["type"] else each for each in conditions],
    }


def _conditions(status: Obj | None) -> list[Obj]:
    listed: Any = (status or {}).get("conditions")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
