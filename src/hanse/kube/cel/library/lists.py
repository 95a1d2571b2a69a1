"""Lists: isSorted, sum, min, max, indexOf, lastIndexOf."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

from hanse.kube.cel.library.function import Function


def _is_sorted(values: list[Any]) -> bool:
    return all(left <= right for left, right in pairwise(values))


def _sum(values: list[Any]) -> Any:
    return sum(values[1:], values[0]) if values and isinstance(values[0], timedelta) else sum(values)


def _smallest(values: list[Any]) -> Any:
    if not values:
        raise ValueError("min called on empty list")
    return min(values)


def _largest(values: list[Any]) -> Any:
    if not values:
        raise ValueError("max called on empty list")
    return max(values)


def _index(values: list[Any], wanted: Any) -> int:
    return values.index(wanted) if wanted in values else -1


def _last_index(values: list[Any], wanted: Any) -> int:
    return len(values) - 1 - values[::-1].index(wanted) if wanted in values else -1


FUNCTIONS = (
    Function("isSorted", ("list",), "bool", _is_sorted),
    Function("sum", ("list",), "dyn", _sum),
    Function("min", ("list",), "dyn", _smallest),
    Function("max", ("list",), "dyn", _largest),
    Function("indexOf", ("list", "dyn"), "int", _index),
    Function("lastIndexOf", ("list", "dyn"), "int", _last_index),
)
