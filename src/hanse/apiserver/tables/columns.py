"""Columns and the small formats that cells share: ages, ports, selectors, lists of names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import parse_timestamp
from hanse.kube.selectors import LabelSelector

Cells = Callable[[Obj, float], list[Any]]
NONE = "<none>"
UNKNOWN = "<unknown>"


@dataclass(frozen=True, slots=True)
class Column:
    """One column: wide ones (priority 1) are shown with `-o wide` only."""

    name: str
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def definition(self) -> Obj:
        """Return the column as a Table tells it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Printer:
    """A kind's columns and what stands in them."""

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Callable[[Obj], list[Obj]] | None = None


def columns(narrow: str, wide: str = "", **types: str) -> tuple[Column, ...]:
    """Return columns from their names, separated by bars; the name column is always called Name."""
    made = [
        Column(name, types.get(_word(name), "string"), "name" if name == "Name" else "", priority)
        for priority, names in ((0, narrow), (1, wide))
        for name in names.split("|")
        if name
    ]
    return tuple(made)


def _word(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def age(text: Any, now: float) -> str:
    """Return how long ago a timestamp was, as people read it."""
    if not text:
        return UNKNOWN
    try:
        return duration(now - parse_timestamp(str(text)))
    except ValueError:
        return "<invalid>"


def created(obj: Obj, now: float) -> str:
    """Return an object's age."""
    return age(obj["metadata"].get("creationTimestamp"), now)


def duration(seconds: float) -> str:
    """Write a span as Kubernetes' HumanDuration does."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return f"{minutes}m{whole % 60}s" if whole % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    return _long_duration(hours, days)


def _long_duration(hours: int, days: int) -> str:
    years = hours // 24 // 365
    if hours < 24 * 365 * 2:
        return f"{days}d"
    if hours < 24 * 365 * 8:
        rest = days % 365
        return f"{years}y{rest}d" if rest else f"{years}y"
    return f"{years}y"


def text(value: Any, default: str = NONE) -> str:
    """Return a value as text, or the mark for none."""
    return default if value in (None, "") else str(value)


def containers_of(spec: Any) -> tuple[str, str]:
    """Return the container names and images of a pod spec, each joined by commas."""
    listed = dig(spec, "containers", default=[])
    return ",".join(str(one.get("name")) for one in listed), ",".join(str(one.get("image")) for one in listed)


def selector_text(selector: Any) -> str:
    """Return a selector in either form as text."""
    if not selector:
        return NONE
    try:
        if "matchLabels" in selector or "matchExpressions" in selector:
            return str(LabelSelector.from_object(selector)) or NONE
        return str(LabelSelector.from_labels(selector)) or NONE
    except ValueError:
        return "<error>"


CREATED = Printer(
    (Column("Name", format="name"), Column("Created At", "date")),
    lambda obj, _: [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp")],
)
