"""Structured merge: compare two objects, merge one into another, take fields out, field by owned field.

The rules are those of server-side apply: atomic parts are one leaf, elements of keyed lists and sets are matched by
identity and keep their order. Nothing given is written to; results share what did not change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hanse.kube.patches.field_sets import Branch, FieldSet, Path
from hanse.kube.patches.field_types import ABSENT, FieldType, UntypedError

_EMPTY = FieldSet()
_NESTED = (dict, list)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Which fields the second of two objects has added, changed and dropped."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    @property
    def same(self) -> bool:
        """Whether the two objects say the same."""
        return self.added.empty and self.modified.empty and self.removed.empty

    @property
    def written(self) -> FieldSet:
        """What was added or changed."""
        return self.modified.union(self.added)

    def ignoring(self, fields: FieldSet) -> Comparison:
        """Return the comparison without some fields and all that lies below them."""
        return Comparison(self.added.without(fields), self.modified.without(fields), self.removed.without(fields))


@dataclass(slots=True)
class _Findings:
    merged: bool
    added: list[Branch] = field(default_factory=list)
    modified: list[Path] = field(default_factory=list)
    removed: list[Branch] = field(default_factory=list)


def compare(old: Any, new: Any, kind: FieldType, *, merged: bool = False) -> Comparison:
    """Return the difference between two objects of one type.

    `merged` says that the new one has a configuration laid over it, in which an empty map is something to own.
    """
    found = _Findings(merged)
    _compare(old, new, kind, (), found)
    return Comparison(
        FieldSet.from_branches(found.added), FieldSet.from_paths(found.modified), FieldSet.from_branches(found.removed)
    )


def _compare(old: Any, new: Any, kind: FieldType, path: Path, found: _Findings) -> None:
    if old is ABSENT:
        found.added.append((path, _whole(new, kind, merged=found.merged)))
    elif new is ABSENT:
        found.removed.append((path, _whole(old, kind, merged=False)))
    elif old != new:
        if _form(old) != _form(new) and not _granular_null(old, new, kind):
            _compare_forms(old, new, kind, path, found)
        elif not _descend(old, new, kind, path, found):
            found.modified.append(path)


def _compare_forms(old: Any, new: Any, kind: FieldType, path: Path, found: _Findings) -> None:
    """A map in place of a scalar, or the other way round: fields of the map come or go, and the place changes."""
    found.removed += _branches(path, _whole(old, kind, merged=False))
    found.added += _branches(path, _whole(new, kind, merged=found.merged))
    found.modified.append(path)


def _branches(path: Path, below: FieldSet) -> list[Branch]:
    return [((*path, *rest), _EMPTY) for rest in below.paths()]


def _whole(value: Any, kind: FieldType, *, merged: bool) -> FieldSet:
    """Return every field below a value that came or went as a whole."""
    if not value:
        return _EMPTY
    if isinstance(value, dict) and not kind.atomic_map:
        children: dict[str, FieldSet] = {}
        # A struct takes the structs inside it along, even those that JSON leaves out.
        for key in {**value, **dict.fromkeys(kind.structs)} if kind.structs else value:
            inner = value.get(key, ABSENT)
            if inner is ABSENT or not (merged or inner):
                inner = kind.stored(key, inner)
            if inner is not ABSENT:
                step = f"f:{key}"
                children[step] = _whole(inner, kind.at(step), merged=merged) if inner.__class__ in _NESTED else _EMPTY
        return FieldSet(children, children)
    if isinstance(value, list) and not kind.atomic_list:
        groups = _grouped(value, kind)
        inside = {
            step: _whole(group[0], kind.element, merged=merged) for step, group in groups.items() if len(group) < 2
        }
        return FieldSet(groups, inside)
    return _EMPTY


def _form(value: Any) -> str:
    return "map" if isinstance(value, dict) else "list" if isinstance(value, list) else "scalar"


def _granular_null(old: Any, new: Any, kind: FieldType) -> bool:
    """Null stands for an empty map or list where one is declared that is owned field by field."""
    if old is not None and new is not None:
        return False
    other = new if old is None else old
    return bool(other) and (
        (isinstance(other, dict) and kind.schema.type == "object" and not kind.atomic_map)
        or (isinstance(other, list) and not kind.atomic_list)
    )


def _descend(old: Any, new: Any, kind: FieldType, path: Path, found: _Findings) -> bool:
    """Compare what lies below; False where the value is one leaf."""
    if (isinstance(old, dict) or isinstance(new, dict)) and not kind.atomic_map and (_filled(old) or _filled(new)):
        _compare_maps(old, new, kind, path, found)
        return True
    if (isinstance(old, list) or isinstance(new, list)) and not kind.atomic_list and (_filled(old) or _filled(new)):
        _compare_lists(_listed(old), _listed(new), kind, path, found)
        return True
    return False


def _filled(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _compare_maps(old: Any, new: Any, kind: FieldType, path: Path, found: _Findings) -> None:
    before = old if isinstance(old, dict) else {}
    after = new if isinstance(new, dict) else {}
    for key in {**before, **after}:
        step = f"f:{key}"
        # A struct holds its zero values where JSON has nothing.
        left = kind.stored(key, before.get(key, ABSENT))
        right = after.get(key, ABSENT)
        if right is ABSENT or not found.merged:
            right = kind.stored(key, right)
        if left is not ABSENT or right is not ABSENT:
            _compare(left, right, kind.at(step), (*path, step), found)


def _compare_lists(old: list[Any], new: list[Any], kind: FieldType, path: Path, found: _Findings) -> None:
    before, after = _grouped(old, kind), _grouped(new, kind)
    for step in [*before, *(step for step in after if step not in before)]:
        left, right = before.get(step, []), after.get(step, [])
        where = (*path, step)
        if len(left) <= 1 and len(right) <= 1:
            one, other = left[0] if left else ABSENT, right[0] if right else ABSENT
            _compare(one, other, kind.element, where, found)
        elif len(left) >= 2 and len(right) >= 2:
            if left != right:
                found.modified.append(where)
        elif len(left) >= 2:
            if right:
                _compare(ABSENT, right[0], kind.element, where, found)
            found.removed.append((where, _EMPTY))
        else:
            if left:
                _compare(left[0], ABSENT, kind.element, where, found)
            found.added.append((where, _EMPTY))


def _grouped(values: list[Any], kind: FieldType) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for value in values:
        groups.setdefault(kind.element_step(value), []).append(value)
    return groups


def merge(live: Any, config: Any, kind: FieldType) -> Any:
    """Return the live value with a configuration laid over it."""
    if config is ABSENT:
        return live
    if live is ABSENT or _form(live) != _form(config):
        # Null in a configuration does not empty a map or a list that is owned field by field.
        return live if live is not ABSENT and config is None and _granular_null(live, None, kind) else config
    if isinstance(config, dict) and not kind.atomic_map and (live or config):
        merged = dict(live)
        for key, value in config.items():
            merged[key] = merge(live.get(key, ABSENT), value, kind.at(f"f:{key}"))
        return merged
    if isinstance(config, list) and not kind.atomic_list and (live or config):
        return _merge_lists(live, config, kind)
    return config


def _merge_lists(live: list[Any], config: list[Any], kind: FieldType) -> list[Any]:
    weaver = _Weaver(live, config, kind)
    return weaver.woven()


class _Weaver:
    """Weaves two associative lists: shared elements in the configuration's order, the others where they stood."""

    def __init__(self, live: list[Any], config: list[Any], kind: FieldType) -> None:
        self._kind = kind
        self._live = live
        self._theirs = [kind.element_step(element) for element in live]
        self._ours = [kind.element_step(element) for element in config]
        self._wanted: dict[str, Any] = {}
        for step, element in zip(self._ours, config, strict=True):
            if step in self._wanted:
                raise UntypedError(f"duplicate entries for key {_readable(step)}")
            self._wanted[step] = element
        self._known: dict[str, Any] = {}
        for step, element in zip(self._theirs, live, strict=True):
            # Elements that share an identity cannot be merged with one; the configuration's takes their place.
            self._known[step] = ABSENT if step in self._known else element
        self._shared = [step for step in self._ours if step in self._known]
        self._merged: set[str] = set()
        self._out: list[Any] = []

    def woven(self) -> list[Any]:
        left = right = 0
        while left < len(self._theirs) or right < len(self._ours):
            theirs = self._theirs[left] if left < len(self._theirs) else ""
            ours = self._ours[right] if right < len(self._ours) else ""
            if theirs and theirs not in self._wanted:
                self._out.append(self._live[left])
                left += 1
            elif theirs and ours and self._is_later(theirs, ours):
                left += 1
            elif ours:
                left += theirs == ours or theirs in self._merged
                self._take(ours)
                right += 1
            else:
                left += 1
        return self._out

    def _is_later(self, theirs: str, ours: str) -> bool:
        """Tell whether a live element's turn in the configuration's order is yet to come."""
        return theirs != ours and bool(self._shared) and self._shared[0] != theirs

    def _take(self, step: str) -> None:
        self._merged.add(step)
        self._out.append(merge(self._known.get(step, ABSENT), self._wanted[step], self._kind.element))
        if self._shared and self._shared[0] == step:
            self._shared.pop(0)


def _readable(step: str) -> str:
    return next(iter(FieldSet([step])))


def remove(value: Any, fields: FieldSet, kind: FieldType, *, keep_emptied: bool = False) -> Any:
    """Return a value without some fields; None for one that lost all it had.

    With `keep_emptied` a map keeps an emptied field as null, which still counts as a field.
    """
    if not value:
        return None if isinstance(value, dict | list) else value
    if isinstance(value, dict):
        return None if kind.atomic_map else _remove_fields(value, fields, kind, keep_emptied=keep_emptied)
    if isinstance(value, list):
        return None if kind.atomic_list else _remove_elements(value, fields, kind, keep_emptied=keep_emptied)
    return value


def _remove_fields(value: dict[str, Any], fields: FieldSet, kind: FieldType, *, keep_emptied: bool) -> Any:
    kept: dict[str, Any] = {}
    for key, inner in value.items():
        step = f"f:{key}"
        if fields.has((step,)):
            continue
        deeper = fields.below(step)
        if not deeper.empty:
            inner = remove(inner, deeper, kind.at(step), keep_emptied=keep_emptied)
            if inner is None and not keep_emptied:
                continue
        kept[key] = inner
    return kept or None


def _remove_elements(value: list[Any], fields: FieldSet, kind: FieldType, *, keep_emptied: bool) -> Any:
    kept = []
    for element in value:
        step = kind.element_step(element)
        if fields.has((step,)):
            continue
        deeper = fields.below(step)
        kept.append(element if deeper.empty else remove(element, deeper, kind.element, keep_emptied=keep_emptied))
    return kept or None
