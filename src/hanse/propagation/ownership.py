"""Whose the fields of a member's object are, where Hanse created it.

Creating is half the price of applying, but it makes Hanse the owner of the fields as somebody who updates, and an apply
removes only what an earlier apply owned. So before a field is taken out, that ownership is turned into an applier's.
"""

from __future__ import annotations

from typing import Any

import orjson

from hanse.kube.client import FIELD_MANAGER
from hanse.kube.manifest import Obj
from hanse.kube.patches.field_sets import FieldSet, Path


def is_creation(entry: Obj) -> bool:
    """Tell whether a managedFields entry stems from Hanse's creation of the object."""
    return _is_ours(entry) and entry.get("operation") == "Update"


def outlives_apply(entries: list[Obj], manifest: Obj) -> bool:
    """Tell whether creation left Hanse a field that the manifest no longer has, which an apply would leave behind."""
    return any(
        not _has(manifest, path)
        for entry in entries
        if is_creation(entry)
        for path in FieldSet.from_v1(entry.get("fieldsV1") or {}).paths()
    )


def claimed(entries: list[Obj]) -> list[Obj]:
    """Return the entries with everything that is Hanse's owned by it as an applier."""
    ours = [entry for entry in entries if _is_ours(entry)]
    fields = FieldSet()
    for entry in ours:
        fields = fields.union(FieldSet.from_v1(entry.get("fieldsV1") or {}))
    others = [entry for entry in entries if not _is_ours(entry)]
    return [*others, {**ours[0], "operation": "Apply", "fieldsV1": fields.to_v1()}]


def _is_ours(entry: Obj) -> bool:
    return entry.get("manager") == FIELD_MANAGER and not entry.get("subresource")


def _has(value: Any, path: Path) -> bool:
    for step in path:
        form, _, name = step.partition(":")
        if form == "f":
            if not isinstance(value, dict) or name not in value:
                return False
            value = value[name]
            continue
        if not isinstance(value, list):
            return False
        found = _element(value, form, name)
        if found is None:
            return False
        value = found[0]
    return True


def _element(items: list[Any], form: str, name: str) -> tuple[Any] | None:
    wanted = orjson.loads(name)
    for index, item in enumerate(items):
        if form == "k" and isinstance(item, dict) and all(item.get(key) == value for key, value in wanted.items()):
            return (item,)
        if (form == "v" and item == wanted) or (form == "i" and index == wanted):
            return (item,)
    return None
