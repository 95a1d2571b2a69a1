"""What the operator's functions are shown and what they say: children, a status, and what is to be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hanse.kube.conditions import condition
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import Resource
from hanse.vitess.operator.keeping import kept

READY = "Ready"
INVALID_SPEC = "InvalidSpec"


class Tri(StrEnum):
    """Yes, no, or nobody knows; Unknown is never taken for either."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"

    @classmethod
    def of(cls, value: bool | None) -> Tri:
        """Return what a boolean says, Unknown of None."""
        return cls.UNKNOWN if value is None else cls(str(value))


@dataclass(frozen=True, slots=True)
class Observed:
    """What exists: the parent's own children and other objects that its function asked to see, by kind and name."""

    children: Mapping[str, Mapping[str, Obj]] = field(default_factory=dict)
    related: Mapping[str, Mapping[str, Obj]] = field(default_factory=dict)
    now: float = 0.0

    def of(self, resource: Resource) -> Mapping[str, Obj]:
        """Return the children of a kind by their names."""
        return self.children.get(_key(resource)) or {}

    def beside(self, resource: Resource) -> Mapping[str, Obj]:
        """Return the other objects of a kind by their names."""
        return self.related.get(_key(resource)) or {}

    def everything(self) -> list[Obj]:
        """Return all children."""
        return [obj for objects in self.children.values() for obj in objects.values()]


def _key(resource: Resource) -> str:
    return f"{resource.kind}.{resource.api_version}"


def observed_of(children: Sequence[tuple[Resource, Obj]], related: Sequence[tuple[Resource, Obj]] = ()) -> Observed:
    """Return what is observed out of plain lists."""

    def sorted_out(objects: Sequence[tuple[Resource, Obj]]) -> dict[str, dict[str, Obj]]:
        found: dict[str, dict[str, Obj]] = {}
        for resource, obj in objects:
            found.setdefault(_key(resource), {})[obj["metadata"]["name"]] = obj
        return found

    return Observed(sorted_out(children), sorted_out(related))


@dataclass(frozen=True, slots=True)
class Happening:
    """Something to be told by an Event about the parent."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """Annotations to be set, or removed where None, on an object that others annotate too."""

    resource: Resource
    name: str
    annotations: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What shall be: the children, the parent's status, what is told, what is marked, and when to look again."""

    children: tuple[Obj, ...]
    status: Obj
    events: tuple[Happening, ...] = ()
    marks: tuple[Mark, ...] = ()
    again: float | None = None


def ready_condition(parent: Obj, ready: bool | None, reason: str, message: str = "") -> Obj:
    """Return the condition Ready, about the parent as it is now."""
    return condition(READY, ready, reason, message, generation=int(dig(parent, "metadata", "generation", default=0)))


def refused(parent: Obj, observed: Observed, problems: Sequence[str]) -> Verdict:
    """Leave everything as it is, since what is asked for cannot be meant."""
    said = "; ".join(f"spec.{problem}" for problem in problems)
    status = {**(parent.get("status") or {})}
    status["conditions"] = [ready_condition(parent, False, INVALID_SPEC, said)]
    return Verdict(tuple(map(kept, observed.everything())), status, (Happening(INVALID_SPEC, said, warning=True),))
