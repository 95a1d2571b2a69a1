"""The cluster selector of federation v1: requirements on a cluster's labels, all of which must hold.

It takes every operator in every spelling that the annotation allowed, and refuses the rest with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hanse.kube.selectors import LabelSelector, Requirement, label_value_problems, qualified_name_problems

_OPERATORS = {
    "in": "in", "In": "in",
    "notin": "notin", "NotIn": "notin",
    "=": "=", "==": "=",
    "!=": "!=",
    "exists": "exists", "Exists": "exists",
    "!": "!", "DoesNotExist": "!",
    "gt": "gt", "Gt": "gt", ">": "gt",
    "lt": "lt", "Lt": "lt", "<": "lt",
}  # fmt: skip
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


class SelectorError(ValueError):
    """A cluster selector that cannot be understood, said in one sentence."""


@dataclass(frozen=True, slots=True)
class ClusterSelector:
    """Requirements that must all hold; without any, every cluster is selected."""

    requirements: tuple[Requirement, ...] = ()

    def unmet(self, labels: Mapping[str, str]) -> Requirement | None:
        """Return the first requirement that a cluster does not fulfil, None where it fulfils all."""
        return next((needed for needed in self.requirements if not needed.matches(labels)), None)

    @classmethod
    def parse(cls, document: Any) -> ClusterSelector:
        """Read the decoded JSON of the annotation: a list of requirements, or null."""
        if document is None:
            return cls()
        if not isinstance(document, list):
            raise SelectorError("must be a JSON list of requirements")
        return cls(tuple(_requirement(entry, index) for index, entry in enumerate(document)))


def _requirement(entry: Any, index: int) -> Requirement:
    if not isinstance(entry, dict):
        raise SelectorError(f"[{index}] must be an object with key, operator and values")
    # The original decoder matched field names whatever their case.
    fields = {str(name).lower(): value for name, value in entry.items()}
    key, spelt, values = fields.get("key"), fields.get("operator"), fields.get("values") or []
    if not isinstance(key, str) or qualified_name_problems(key):
        raise SelectorError(f"[{index}].key: {key!r} is not a label key")
    operator = _OPERATORS.get(spelt) if isinstance(spelt, str) else None
    if operator is None:
        raise SelectorError(f"[{index}].operator: {spelt!r} is not an operator; use one of {', '.join(_OPERATORS)}")
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise SelectorError(f"[{index}].values must be a list of strings")
    _check_values(operator, values, index)
    return Requirement(key, operator, tuple(values))


def _check_values(operator: str, values: list[str], index: int) -> None:
    where = f"[{index}].values"
    if operator in ("in", "notin") and not values:
        raise SelectorError(f"{where} must have at least one entry for {operator!r}")
    if operator in ("=", "!=", "gt", "lt") and len(values) != 1:
        raise SelectorError(f"{where} must have exactly one entry for {operator!r}")
    if operator in ("exists", "!") and values:
        raise SelectorError(f"{where} must be empty for {operator!r}")
    for value in values:
        if label_value_problems(value):
            raise SelectorError(f"{where}: {value!r} is not a label value")
    if operator in ("gt", "lt") and not _INTEGER.fullmatch(values[0]):
        raise SelectorError(f"{where}: {values[0]!r} is not a whole number")


def in_words(needed: Requirement) -> str:
    """Say what a requirement asks for."""
    match needed.operator:
        case "exists":
            return f"label {needed.key} exists"
        case "!":
            return f"label {needed.key} does not exist"
        case "in" | "notin":
            word = "in" if needed.operator == "in" else "not in"
            return f"{needed.key} {word} ({', '.join(needed.values)})"
    sign = {"gt": ">", "lt": "<"}.get(needed.operator, needed.operator)
    return f"{needed.key} {sign} {needed.values[0]}"


def where(text: str) -> ClusterSelector:
    """Read a selector as `kubectl -l` takes it: `region in (eu, us), tier != dev`; raises SelectorError."""
    try:
        return ClusterSelector(LabelSelector.parse(text).requirements)
    except ValueError as error:
        raise SelectorError(str(error)) from error
