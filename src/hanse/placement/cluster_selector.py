"""The cluster selector of federation v1: requirements on a cluster's labels, all of which must hold.

It takes every operator in every spelling that the annotation allowed, and refuses the rest with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hanse.kube.selectors import label_value_problems, qualified_name_problems

_OPERATORS = {
    "in": "in", "In": "in",
    "notin": "notin", "NotIn": "notin",
    "=": "=", "==": "=",
    "!=": "!=",
    "exists": "exists", "Exists": "exists",
    "!": "!", "DoesNotExist": "!",
    "gt": ">", "Gt": ">", ">": ">",
    "lt": "<", "Lt": "<", "<": "<",
}  # fmt: skip
_INT64 = re.compile(r"[+-]?[0-9]{1,19}")


class SelectorError(ValueError):
    """A cluster selector that cannot be understood, said in one sentence."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a cluster's labels fulfil it; an absent label fulfils only the negative ones."""
        have = labels.get(self.key)
        match self.operator:
            case "exists":
                return have is not None
            case "!":
                return have is None
            case "notin" | "!=":
                return have not in self.values
            case "in" | "=":
                return have in self.values
        number = _integer(have)
        if number is None:
            return False
        limit = int(self.values[0])
        return number > limit if self.operator == ">" else number < limit

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return f"label {self.key} exists"
            case "!":
                return f"label {self.key} does not exist"
            case "in" | "notin":
                word = "in" if self.operator == "in" else "not in"
                return f"{self.key} {word} ({', '.join(self.values)})"
        return f"{self.key} {self.operator} {self.values[0]}"


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
    if operator in ("=", "!=", ">", "<") and len(values) != 1:
        raise SelectorError(f"{where} must have exactly one entry for {operator!r}")
    if operator in ("exists", "!") and values:
        raise SelectorError(f"{where} must be empty for {operator!r}")
    for value in values:
        if label_value_problems(value):
            raise SelectorError(f"{where}: {value!r} is not a label value")
    if operator in (">", "<") and _integer(values[0]) is None:
        raise SelectorError(f"{where}: {values[0]!r} is not a whole number")


def _integer(text: str | None) -> int | None:
    if text is None or not _INT64.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
