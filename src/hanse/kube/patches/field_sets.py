"""Sets of fields: who wrote what, as managedFields records it.

A field is a path of steps, and a step is written as FieldsV1 writes it: `f:name` for a field, `k:{"name":"app"}`
for an element of a keyed list, `v:"x"` for an element of a set, `i:0` for a position. Sets are values: every
operation returns a new one and shares what it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import orjson

from hanse.kube.manifest import Obj
from hanse.kube.patches.field_types import FieldType, field_type
from hanse.kube.schemas.schema import Schema

Path = tuple[str, ...]
Branch = tuple[Path, "FieldSet"]

_SELF = "."
_KIND_ORDER = {"f": 0, "k": 1, "v": 2, "i": 3}


class FieldSet:
    """An immutable set of field paths."""

    __slots__ = ("_children", "_members")

    def __init__(self, members: Iterable[str] = (), children: Mapping[str, FieldSet] | None = None) -> None:
        self._members = frozenset(members)
        self._children = {step: child for step, child in (children or {}).items() if not child.empty}

    @classmethod
    def from_paths(cls, paths: Iterable[Path]) -> FieldSet:
        """Return the set of these paths."""
        return cls.from_branches((path, _EMPTY) for path in paths)

    @classmethod
    def from_branches(cls, branches: Iterable[Branch]) -> FieldSet:
        """Return the set of these paths, each with a set that lies below it."""
        members: set[str] = set()
        children: dict[str, FieldSet] = {}
        deeper: dict[str, list[Branch]] = {}
        for path, below in branches:
            if len(path) == 1:
                members.add(path[0])
                if not below.empty:
                    children[path[0]] = below
            elif path:
                deeper.setdefault(path[0], []).append((path[1:], below))
        for step, rest in deeper.items():
            part = cls.from_branches(rest)
            children[step] = children[step].union(part) if step in children else part
        return cls(members, children)

    @classmethod
    def from_v1(cls, fields: Obj) -> FieldSet:
        """Read a FieldsV1 object; raises ValueError on a step of unknown form."""
        members: set[str] = set()
        children: dict[str, FieldSet] = {}
        for written, inner in fields.items():
            if written == _SELF:
                continue
            step = _canonical(written)
            if not inner or _SELF in inner:
                members.add(step)
            if inner:
                children[step] = cls.from_v1(inner)
        return cls(members, children)

    @classmethod
    def of(cls, obj: Any, schema: Schema | None) -> FieldSet:
        """Return the fields that an applied configuration claims: its leaves, atomic parts and list elements."""
        return cls.of_value(obj, field_type(schema))

    @classmethod
    def of_value(cls, value: Any, kind: FieldType) -> FieldSet:
        """Return the claimed fields below a value."""
        return _below(value, kind)[1]

    def to_v1(self) -> Obj:
        """Return the FieldsV1 object, its keys in the server's order."""
        fields: Obj = {}
        for step in sorted(self._members | self._children.keys(), key=_step_order):
            child = self._children.get(step)
            inner = child.to_v1() if child is not None else {}
            fields[step] = {_SELF: {}, **inner} if inner and step in self._members else inner
        return fields

    @property
    def empty(self) -> bool:
        """Whether no path is in the set."""
        return not self._members and not self._children

    def has(self, path: Path) -> bool:
        """Tell whether exactly this path is in the set."""
        step, *rest = path
        return self.below(step).has(tuple(rest)) if rest else step in self._members

    def below(self, step: str) -> FieldSet:
        """Return the part of the set that lies under a step."""
        return self._children.get(step, _EMPTY)

    def union(self, other: FieldSet) -> FieldSet:
        """Return the paths that are in either set."""
        if self.empty or other.empty:
            return other if self.empty else self
        children = dict(self._children)
        for step, child in other._children.items():
            children[step] = children[step].union(child) if step in children else child
        return FieldSet(self._members | other._members, children)

    def intersection(self, other: FieldSet) -> FieldSet:
        """Return the paths that are in both sets."""
        shared = self._children.keys() & other._children.keys()
        children = {step: self._children[step].intersection(other._children[step]) for step in shared}
        return FieldSet(self._members & other._members, children)

    def difference(self, other: FieldSet) -> FieldSet:
        """Return the paths that are here and not there; a path does not take those below it along."""
        if other.empty:
            return self
        children = {step: child.difference(other.below(step)) for step, child in self._children.items()}
        return FieldSet(self._members - other._members, children)

    def without(self, other: FieldSet) -> FieldSet:
        """Return the paths that neither are in the other set nor lie below one that is."""
        if other.empty:
            return self
        children = {
            step: child.without(other.below(step))
            for step, child in self._children.items()
            if step not in other._members
        }
        return FieldSet(self._members - other._members, children)

    def with_declared_parents(self, kind: FieldType) -> FieldSet:
        """Return the set with every declared field on the way to a member as a member itself."""
        members = set(self._members)
        children: dict[str, FieldSet] = {}
        for step, child in self._children.items():
            if kind.declares(step):
                members.add(step)
            children[step] = child.with_declared_parents(kind.at(step))
        return FieldSet(members, children)

    def paths(self) -> Iterator[Path]:
        """Yield the paths in the server's order: members of a level first, then what lies deeper."""
        for step in sorted(self._members, key=_step_order):
            yield (step,)
        for step in sorted(self._children, key=_step_order):
            for rest in self._children[step].paths():
                yield (step, *rest)

    def __iter__(self) -> Iterator[str]:
        return (readable(path) for path in self.paths())

    def __len__(self) -> int:
        return len(self._members) + sum(len(child) for child in self._children.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldSet):
            return NotImplemented
        return self._members == other._members and self._children == other._children

    def __hash__(self) -> int:
        return hash((self._members, frozenset(self._children)))

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(self)})"


_EMPTY = FieldSet()


def _below(value: Any, kind: FieldType) -> tuple[bool, FieldSet]:
    """Tell whether a value's own path is claimed, and return what is claimed below it."""
    if isinstance(value, dict) and not kind.atomic_map:
        members: set[str] = set()
        children: dict[str, FieldSet] = {}
        for key, inner in value.items():
            step = f"f:{key}"
            claimed, deeper = _below(inner, kind.at(step))
            if claimed or inner in (None, {}) or not kind.declares(step):
                members.add(step)
            children[step] = deeper
        return False, FieldSet(members, children)
    if isinstance(value, list) and not kind.atomic_list:
        return False, _elements(value, kind)
    return True, _EMPTY


def _elements(value: list[Any], kind: FieldType) -> FieldSet:
    steps = [kind.element_step(element) for element in value]
    children = {
        step: _below(element, kind.element)[1]
        for step, element in zip(steps, value, strict=True)
        if steps.count(step) == 1
    }
    return FieldSet(steps, children)


@lru_cache(maxsize=8192)
def _canonical(step: str) -> str:
    """Return a step as this module writes it, whoever wrote it."""
    kind, colon, rest = step.partition(":")
    if not colon or kind not in _KIND_ORDER:
        raise ValueError(f"unknown field path element {step!r}")
    if kind == "f":
        return step
    try:
        return f"{kind}:{orjson.dumps(orjson.loads(rest), option=orjson.OPT_SORT_KEYS).decode()}"
    except orjson.JSONDecodeError as error:
        raise ValueError(f"unknown field path element {step!r}: {error}") from None


@lru_cache(maxsize=8192)
def _step_order(step: str) -> tuple[Any, ...]:
    kind, _, rest = step.partition(":")
    if kind == "f":
        return (0, rest)
    value = orjson.loads(rest)
    if kind == "k":
        return (1, *((key, _value_order(inner)) for key, inner in value.items()))
    return (_KIND_ORDER[kind], _value_order(value))


def _value_order(value: Any) -> tuple[int, Any]:
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
        case _:
            return (3, orjson.dumps(value))


def readable(path: Path) -> str:
    """Write a path as messages do: `.spec.template.spec.containers[name="app"].image`."""
    return "".join(_readable_step(step) for step in path)


def _readable_step(step: str) -> str:
    kind, _, rest = step.partition(":")
    match kind:
        case "f":
            return f".{rest}"
        case "k":
            keys = orjson.loads(rest)
            return "[" + ",".join(f"{key}={orjson.dumps(keys[key]).decode()}" for key in sorted(keys)) + "]"
        case "v":
            return f"[={rest}]"
        case _:
            return f"[{rest}]"
