"""The status of a custom kind, by the rules that its FederatedKind teaches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hanse.api.federated_kinds import TaughtField
from hanse.kube.conditions import condition, merge_conditions
from hanse.kube.manifest import Obj, dig
from hanse.propagation.expressions import Unanswered
from hanse.propagation.report import Report
from hanse.propagation.scale import Path, with_field
from hanse.propagation.teaching import MadeField

_STATUS = "status"


Rule: TypeAlias = TaughtField | MadeField


@dataclass(frozen=True, slots=True)
class TaughtStatus:
    """A status that rules made, and what one of them could not make, in one sentence."""

    status: Obj
    trouble: str = ""


def taught_status(rules: Sequence[Rule], source: Obj, report: Report, now: str) -> TaughtStatus | None:
    """Return the status that rules make of the members', None where there is no rule; other fields stay."""
    if not rules:
        return None
    rows = [(row.cluster, row.observed) for row in report.rows if row.live and row.observed is not None]
    result: Obj = {_STATUS: dict(source.get(_STATUS) or {})}
    trouble = ""
    for rule in rules:
        if rule.path[:1] != (_STATUS,):
            continue
        try:
            if (value := _value(rule, source, rows, now)) is not None:
                result = _with(result, rule.path, value)
        except Unanswered as error:
            trouble = trouble or f"the field {'.'.join(rule.path)} stays as it is: {error}"
    # Members that have told nothing yet leave questions open that are answered in a moment.
    complete = all(obj.get(_STATUS) for _, obj in rows)
    return TaughtStatus(result[_STATUS], trouble if complete else "")


def _value(rule: Rule, source: Obj, rows: list[tuple[str, Obj]], now: str) -> Any:
    if isinstance(rule, MadeField):
        return rule.make(source, [{"name": name, _STATUS: obj[_STATUS]} for name, obj in rows if obj.get(_STATUS)])
    values = [(name, value) for name, obj in rows if (value := dig(obj, *rule.path)) is not None]
    return _combined(rule.combine, values, dig(source, *rule.path), now)


def _with(result: Obj, path: Path, value: Any) -> Obj:
    """Set one field, or every field of a whole status."""
    if len(path) > 1:
        return with_field(result, path, value)
    if not isinstance(value, dict):
        raise Unanswered(f"it is made of fields and not of {value!r}")
    return {_STATUS: {**result[_STATUS], **value}}


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
