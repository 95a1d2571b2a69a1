"""What a member's object becomes when its rendering changes: the old one taken out, the new one put in.

It is what a server-side apply would give, for half the price, worked out where the former rendering is still known.
What others put into the object stays: fields of their own, entries of keyed lists, members of sets.
"""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.schemas import Schema

_GONE = object()


def revised(live: Obj, last: Obj, wanted: Obj, schema: Schema) -> Obj:
    """Return the whole object to write in place of the live one."""
    whole: Obj = _merged(live, last, wanted, schema)
    metadata = {name: value for name, value in whole["metadata"].items() if name != "managedFields"}
    return {**whole, "metadata": metadata}


def _merged(live: Any, last: Any, wanted: Any, schema: Schema | None) -> Any:
    if isinstance(wanted, dict) and isinstance(live, dict):
        return _merged_mapping(live, last if isinstance(last, dict) else {}, wanted, schema)
    if isinstance(wanted, list) and isinstance(live, list) and schema is not None:
        before = last if isinstance(last, list) else []
        if schema.list_type == "map":
            return _merged_entries(live, before, wanted, schema)
        if schema.list_type == "set":
            return [*wanted, *(item for item in live if item not in wanted and item not in before)]
    return wanted


def _merged_mapping(live: Obj, last: Obj, wanted: Obj, schema: Schema | None) -> Obj:
    if schema is not None and schema.map_type == "atomic":
        return wanted
    merged = dict(live)
    for name, value in wanted.items():
        merged[name] = _merged(live.get(name), last.get(name), value, schema and schema.child(name))
    for name in last.keys() - wanted.keys():
        rest = _without(live.get(name, _GONE), last[name], schema and schema.child(name))
        if rest is _GONE:
            merged.pop(name, None)
        else:
            merged[name] = rest
    return merged


def _merged_entries(live: list[Any], last: list[Any], wanted: list[Any], schema: Schema) -> list[Any]:
    """Merge a keyed list: entries keep the order that they have, new ones follow."""
    rest = {schema.entry_key(item): item for item in wanted}
    before = {schema.entry_key(item): item for item in last}
    merged = []
    for item in live:
        key = schema.entry_key(item)
        if key in rest:
            merged.append(_merged(item, before.get(key), rest.pop(key), schema.items))
        elif key not in before:
            merged.append(item)
    return [*merged, *rest.values()]


def _without(live: Any, last: Any, schema: Schema | None) -> Any:
    """Take out what was rendered; what is left is others', _GONE where nothing is."""
    if isinstance(live, dict) and isinstance(last, dict) and not (schema is not None and schema.map_type == "atomic"):
        rest = _merged_mapping(live, last, {}, schema)
        return rest or _GONE
    if isinstance(live, list) and isinstance(last, list) and schema is not None and schema.list_type in ("map", "set"):
        return _merged(live, last, [], schema) or _GONE
    return _GONE
