"""Built-in kinds as a Go server writes them back.

A real server reads these kinds into structs and prints the structs: what is empty and optional vanishes, what is not
optional appears with its zero value, quantities come back in canonical form. The packaged table of the protobuf reader
says for each field which of that holds.
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
def _table() -> Obj:
    table: Obj = orjson.loads(lzma.decompress(Path(__file__).with_name("protobuf.json.xz").read_bytes()))
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
    for _, name, kind, flags in _table()["messages"][index]:
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
    index = _table()["kinds"].get(f"{api_version}/{obj.get('kind')}")
    if index is not None:
        _shape(index, obj)


def _shape(index: int, obj: Obj) -> None:
    message = _message(index)
    for inner in message.inline:
        _shape(inner, obj)
    for name in list(obj):
        field = message.by_name.get(name)
        if field is None:
            continue
        value = obj[name]
        if value is None or (field.omit_empty and not field.pointer and _is_empty(field, value)):
            del obj[name]
        elif field.plural or field.mapped or not isinstance(field.type, str) or field.type == "quantity":
            _settle_present(field, obj, value)
    for field in message.shown:
        if field.name not in obj:
            obj[field.name] = _zero(field)


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
        return _SCALARS.get(kind)
    if kind == "quantity" and isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return canonical_quantity(value)
        except ValueError:
            return value  # refused before, when the body was read
    return value
