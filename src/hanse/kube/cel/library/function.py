"""A function of the expression language as data: what it is called, what it takes and gives, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Opaque = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Function:
    """One overload; types are named as the engine names them: string, int, bool, double, dyn, list, map."""

    name: str
    takes: tuple[str, ...]
    gives: str
    body: Callable[..., Any]
    member: bool = True
    overload: str = ""
    """The name by which the engine knows it among others of its name; "" where any will do."""


def opaque(value: Any, kind: str) -> Any:
    """Return what a value of a Kubernetes type holds; raises ValueError for a value of any other type."""
    if isinstance(value, dict) and len(value) == 1 and kind in value:
        return value[kind]
    raise ValueError("no such overload")
