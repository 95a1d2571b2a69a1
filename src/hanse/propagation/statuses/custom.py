"""The status of a custom kind, by the rules that its FederatedKind teaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hanse.api.federated_kinds import TaughtField
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj, dig
from hanse.propagation.report import Report
from hanse.propagation.scale import with_field

_STATUS = "status"


def taught_status(rules: Sequence[TaughtField], source: Obj, report: Report, now: str) -> Obj | None:
    """Return the status that rules make of the members', None where there is no rule; other fields stay."""
    if not rules:
        return None
    rows = [(row.cluster, row.observed) for row in report.rows if row.live and row.observed is not None]
    result: Obj = {_STATUS: dict(source.get(_STATUS) or {})}
    for rule in rules:
        if rule.path[:1] != (_STATUS,) or len(rule.path) < 2:
            continue
        values = [(name, value) for name, obj in rows if (value := dig(obj, *rule.path)) is not None]
        made = _combined(rule.combine, values, dig(source, *rule.path), now)
        if made is not None:
            result = with_field(result, rule.path, made)
    status: Obj = result[_STATUS]
    return status


def _combined(combine: str, values: list[tuple[str, Any]], before: Any, now: str) -> Any:
    if combine == "Conditions":
        return _conditions([(name, value) for name, value in values if isinstance(value, list)], before, now)
    if combine == "First":
        return values[0][1] if values else None
    if combine == "Sum":
        return sum(value for _, value in values if isinstance(value, int | float) and not isinstance(value, bool))
    comparable = [value for _, value in values if isinstance(value, type(values[0][1]))]
    if not comparable or isinstance(comparable[0], dict | list):
        return None
    return max(comparable) if combine == "Max" else min(comparable)


def _conditions(values: list[tuple[str, list[Any]]], before: Any, now: str) -> list[Obj]:
    found: dict[str, list[tuple[str, Obj]]] = {}
    for name, conditions in values:
        for entry in conditions:
            if isinstance(entry, dict) and entry.get("type"):
                found.setdefault(entry["type"], []).append((name, entry))
    fresh = []
    for kind, told in found.items():
        name, worst = next(((name, entry) for name, entry in told if entry.get("status") != "True"), told[0])
        holds = len(told) == len(values) and worst.get("status") == "True"
        fresh.append(condition(kind, holds, worst.get("reason") or "Unknown", f"{name}: {worst.get('message') or ''}"))
    return merge_conditions(before if isinstance(before, list) else [], fresh, now)
