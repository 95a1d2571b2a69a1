"""Semantic versions, and the comparisons that they share with quantities."""

from __future__ import annotations

import re
from typing import Any

from hanse.kube.cel.library.function import Function, Opaque, opaque
from hanse.kube.cel.library.quantities import amount

_NUMBER = r"(0|[1-9]\d*)"
_IDENTIFIER = r"[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-(?P<pre>{_IDENTIFIER}))?(\+{_IDENTIFIER})?")


def _normalized(text: str) -> str:
    text = text.removeprefix("v")
    numbers, mark, rest = re.fullmatch(r"([^+-]*)([+-]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    parts = [part.lstrip("0") or "0" if part else part for part in numbers.split(".")]
    return ".".join(parts + ["0"] * (3 - len(parts))) + mark + rest


def _semver(text: str, normalize: bool = False) -> Opaque:
    wanted = _normalized(text) if normalize else text
    if not _VERSION.fullmatch(wanted):
        raise ValueError(f"Invalid Semantic Version {text!r}")
    return {"semver": wanted}


def _is_semver(text: str, normalize: bool = False) -> bool:
    return bool(_VERSION.fullmatch(_normalized(text) if normalize else text))


def _order(value: Opaque) -> tuple[Any, ...]:
    found = _VERSION.fullmatch(str(opaque(value, "semver")))
    if found is None:
        raise ValueError("no such overload")
    numbers = tuple(int(part) for part in found.group(1, 2, 3))
    before = found["pre"]
    if not before:
        return (*numbers, (1,))
    # Numbers come before words, and a version with any of either before the one without.
    return (*numbers, (0, *((0, int(one), "") if one.isdigit() else (1, 0, one) for one in before.split("."))))


def _part(place: int) -> Function:
    name = ("major", "minor", "patch")[place]
    return Function(name, ("dyn",), "int", lambda value: _order(value)[place])


def _compare(left: Opaque, right: Opaque) -> int:
    if isinstance(left, dict) and "semver" in left:
        first, second = _order(left), _order(right)
        return (first > second) - (first < second)
    one, other = amount(left), amount(right)
    return (one > other) - (one < other)


FUNCTIONS = (
    Function("semver", ("string",), "dyn", _semver, member=False),
    Function("semver", ("string", "bool"), "dyn", _semver, member=False),
    Function("isSemver", ("string",), "bool", _is_semver, member=False),
    Function("isSemver", ("string", "bool"), "bool", _is_semver, member=False),
    *(_part(place) for place in range(3)),
    Function("compareTo", ("dyn", "dyn"), "int", _compare),
    Function("isGreaterThan", ("dyn", "dyn"), "bool", lambda left, right: _compare(left, right) > 0),
    Function("isLessThan", ("dyn", "dyn"), "bool", lambda left, right: _compare(left, right) < 0),
)
