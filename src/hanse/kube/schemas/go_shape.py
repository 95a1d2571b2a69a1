"""Built-in kinds as a Go server writes them back.

A real server reads these kinds into structs and prints the structs: what is empty and optional vanishes, what is not
optional appears with its zero value, quantities come back in canonical form. A packaged table of the types' fields says
for each which of that holds.
"""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from hanse.kube.manifest import Obj
from hanse.kube.quantities import canonical_quantity

_SCALARS: dict[str, Any] = {"string": "", "bool": False, "int": 0, "double": 0, "bytes": ""}
_ZERO_STRUCTS: dict[str, Any] = {"time": None, "microtime": None, "raw": None, "json": None, "quantity": "0"}


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    type: int | str
    plural: bool
    mapped: bool
    pointer: bool
    omit_empty: bool
    omit_zero: bool
    inline: bool


@cache
def go_types() -> Obj:
    """Return the table: the messages by number, each a list of fields, and the number of each kind's message."""
    table: Obj = orjson.loads(lzma.decompress(Path(__file__).with_name("go_types.json.xz").read_bytes()))
    return table


@dataclass(frozen=True, slots=True)
class _Message:
    by_name: dict[str, _Field]
    shown: tuple[_Field, ...]
    """The fields that are printed even when nobody set them."""
    inline: tuple[int, ...]


@cache
def _message(index: int) -> _Message:
    fields = []
    for _, name, kind, flags in go_types()["messages"][index]:
        plural = "r" in flags or "l" in flags
        rest = ("p" in flags, "o" in flags, "z" in flags, "i" in flags)
        fields.append(_Field(name, kind, plural, "m" in flags, *rest))
    own = [field for field in fields if not field.inline]
    return _Message(
        {field.name: field for field in own},
        tuple(field for field in own if _is_shown(field)),
        tuple(field.type for field in fields if field.inline and isinstance(field.type, int) and not field.pointer),
    )


def _is_shown(field: _Field) -> bool:
    if field.plural or field.mapped or field.pointer or field.type in _SCALARS:
        return not field.omit_empty
    return not field.omit_zero


def write_as_go(api_version: str, obj: Obj) -> None:
    """Give a manifest of a built-in kind the shape that a Go server would print; kinds unknown to the table stay."""
    index = go_types()["kinds"].get(f"{api_version}/{obj.get('kind')}")
    if index is not None:
        _shape(index, obj)


def without_zeros(obj: Obj) -> Obj:
    """Return a manifest without the values that a Go server cannot tell from silence, such as `hostNetwork: false`.

    What a type keeps although it is zero stays (`replicas: 0`), and so does everything of kinds unknown to the table.
    """
    index = go_types()["kinds"].get(f"{obj.get('apiVersion')}/{obj.get('kind')}")
    return obj if index is None else _spoken(index, obj)


def _spoken(index: int, obj: Obj) -> Obj:
    fields, kept = _printed(index), {}
    for name, value in obj.items():
        field = fields.get(name)
        if field is not None and value and isinstance(value, dict | list):
            kept[name] = _spoken_within(field, value)
        elif field is None or not _vanishes(field, value):
            kept[name] = value
    return kept


def _spoken_within(field: _Field, value: Obj | list[Any]) -> Any:
    if not isinstance(field.type, int):
        return value
    index = field.type
    if isinstance(value, list):
        return [_spoken(index, one) if isinstance(one, dict) else one for one in value]
    if field.mapped:
        return {key: _spoken(index, one) if isinstance(one, dict) else one for key, one in value.items()}
    return _spoken(index, value)


@cache
def _printed(index: int) -> dict[str, _Field]:
    """Return the fields of a message, those of messages that are printed among its own with them."""
    message = _message(index)
    fields: dict[str, _Field] = {}
    for inner in message.inline:
        fields |= _printed(inner)
    return fields | message.by_name


def _shape(index: int, obj: Obj) -> None:
    message = _message(index)
    for inner in message.inline:
        _shape(inner, obj)
    for name in list(obj):
        field = message.by_name.get(name)
        if field is None:
            continue
        value = obj[name]
        if _vanishes(field, value):
            del obj[name]
        elif field.plural or field.mapped or not isinstance(field.type, str) or field.type == "quantity":
            _settle_present(field, obj, value)
    for field in message.shown:
        if field.name not in obj:
            obj[field.name] = _zero(field)


def _vanishes(field: _Field, value: Any) -> bool:
    return value is None or (field.omit_empty and not field.pointer and _is_empty(field, value))


def _is_empty(field: _Field, value: Any) -> bool:
    if field.plural or field.mapped:
        return not value
    return field.type in _SCALARS and not value


def _zero(field: _Field) -> Any:
    if field.plural or field.mapped or field.pointer:
        return None
    if isinstance(field.type, int):
        zero: Obj = {}
        _shape(field.type, zero)
        return zero
    return _SCALARS[field.type] if field.type in _SCALARS else _ZERO_STRUCTS.get(field.type, 0)


def _settle_present(field: _Field, obj: Obj, value: Any) -> None:
    if field.plural and isinstance(value, list) and not field.mapped:
        obj[field.name] = [_settled(field.type, one) for one in value]
    elif field.mapped and isinstance(value, dict):
        obj[field.name] = {key: _settled(field.type, one) for key, one in value.items()}
    else:
        obj[field.name] = _settled(field.type, value)


def _settled(kind: int | str, value: Any) -> Any:
    if isinstance(kind, int):
        if value is None:
            # An element that is null becomes a struct with nothing in it.
            value = {}
        if isinstance(value, dict):
            _shape(kind, value)
        return value
    if value is None:
        return "0" if kind == "quantity" else _SCALARS.get(kind)
    if kind == "quantity" and isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return canonical_quantity(value)
        except ValueError:
            return value  # refused before, when the body was read
    return value
