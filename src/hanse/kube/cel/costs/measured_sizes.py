"""How large the values are that an expression is asked about now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hanse.kube.cel.costs.amounts import Range
from hanse.kube.cel.costs.estimate import Path

_EACH = ("@items", "@values", "@indices", "@keys")


@dataclass(frozen=True, slots=True)
class UniformSizes:
    """Sizes of which only this is known, that none is larger."""

    most: int

    @property
    def unknown(self) -> Range:
        """The size of whatever no path leads to."""
        return Range(0, self.most)

    def of(self, path: Path) -> Range | None:
        """Return the one limit."""
        return Range(0, self.most)


@dataclass(frozen=True, slots=True)
class MeasuredSizes:
    """The sizes of these variables' values; whatever they do not hold is no larger than `most`."""

    variables: Mapping[str, Any]
    most: int

    @property
    def unknown(self) -> Range:
        """The size of whatever no path leads to."""
        return Range(0, self.most)

    def of(self, path: Path) -> Range | None:
        """Return the size of the largest value to which a path leads."""
        if path[:1] == () or path[0] not in self.variables:
            return Range(0, self.most)
        found: Iterable[Any] = (self.variables[path[0]],)
        for step in path[1:]:
            found = [inner for value in found for inner in _below(value, step)]
        return Range(0, max((_size(value) for value in found), default=0))


def _below(value: Any, step: str) -> Iterable[Any]:
    if isinstance(value, list):
        return value if step in _EACH else ()
    if not isinstance(value, dict):
        return ()
    if step == "@keys":
        return value.keys()
    if step in _EACH:
        return value.values()
    return (value[step],) if step in value else ()


def _size(value: Any) -> int:
    return len(value) if isinstance(value, str | bytes | list | dict) else 1


def largest_size(values: Iterable[Any]) -> int:
    """Return the size of the largest text, list or map anywhere in these values."""
    largest, found = 1, list(values)
    # The list grows while it is read. Manifests hold plain dicts and lists, so that exact types suffice; this is hot.
    for value in found:
        kind = type(value)
        if kind is dict:
            found.extend(value.values())
        elif kind is list:
            found.extend(value)
        elif kind is not str and kind is not bytes:
            continue
        size = len(value)
        if size > largest:
            largest = size
    return largest
