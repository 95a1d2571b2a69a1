"""Protobuf for frozen dataclasses: the annotation of a field holds its number, and unknown fields are kept.

    @dataclass(frozen=True, slots=True)
    class CellInfo:
        server_address: Annotated[str, 1] = ""
        unknown: bytes = b""

A field's type says how it travels: str, bytes, bool, int, an IntEnum, float (a double), another message or None, a
tuple of these, or a mapping. What a newer Vitess adds to a record stays in `unknown` and is written back untouched.
"""

from __future__ import annotations

import struct
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Annotated, Any, ClassVar, Protocol, TypeVar, Union, cast, get_args, get_origin, get_type_hints

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SIGN, _WRAP = 1 << 63, 1 << 64
# Deeper than any real record; a hostile one must not exhaust the stack.
_DEEPEST = 50


class Message(Protocol):
    """A frozen dataclass whose fields carry numbers."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def unknown(self) -> bytes:
        """Return the fields that this class does not name, as they came."""


M = TypeVar("M", bound=Message)


def encode(message: Message) -> bytes:
    """Return a message as protobuf: fields by number, what is empty left out, what was unknown last."""
    parts: list[bytes] = []
    for field in _fields_of(type(message)):
        value = getattr(message, field.name)
        if field.mapped:
            for key in sorted(value):
                entry = _written(_KEY, key, always=True) + _written(field, value[key], number=2, always=True)
                parts.append(_header(field.number, _BYTES) + _varint(len(entry)) + entry)
        elif field.repeated:
            parts.extend(_written(field, each, always=True) for each in value)
        else:
            parts.append(_written(field, value))
    return b"".join(parts) + message.unknown


def decode(kind: type[M], data: bytes) -> M:
    """Read a message; raises ValueError where the bytes are not protobuf."""
    return _decode(kind, data, 0)


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    number: int
    type: Any
    repeated: bool = False
    mapped: bool = False
    key: Any = str

    @property
    def wire(self) -> int:
        if self.type is float:
            return _FIXED64
        return _VARINT if isinstance(self.type, type) and issubclass(self.type, int) else _BYTES


_KEY = _Field("key", 1, str)


@cache
def _fields_of(kind: type) -> tuple[_Field, ...]:
    hints = get_type_hints(kind, include_extras=True)
    named = (_field(name, hint) for name, hint in hints.items() if get_origin(hint) is Annotated)
    return tuple(sorted(named, key=lambda field: field.number))


def _field(name: str, hint: Any) -> _Field:
    shape, number = get_args(hint)
    origin = get_origin(shape)
    if origin is tuple:
        return _Field(name, number, get_args(shape)[0], repeated=True)
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
        key, value = get_args(shape)
        return _Field(name, number, value, mapped=True, key=key)
    if origin in (Union, types.UnionType):
        return _Field(name, number, next(each for each in get_args(shape) if each is not type(None)))
    return _Field(name, number, shape)


def _written(field: _Field, value: Any, *, number: int = 0, always: bool = False) -> bytes:
    """Return one value with its header; what is empty is only written inside lists and maps."""
    if value is None or (not value and not always and field.type in (str, bytes, bool, int, float)):
        return b""
    if not always and isinstance(value, IntEnum) and value == 0:
        return b""
    header = _header(number or field.number, field.wire)
    if field.wire == _FIXED64:
        return header + struct.pack("<d", value)
    if field.wire == _VARINT:
        return header + _varint(int(value) % _WRAP)
    body = _bytes(value)
    return header + _varint(len(body)) + body


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else encode(value)


def _header(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _decode(kind: type[M], data: bytes, depth: int) -> M:
    if depth > _DEEPEST:
        raise ValueError("the record nests deeper than any record of Vitess")
    fields = {field.number: field for field in _fields_of(kind)}
    found: dict[str, Any] = {}
    unknown: list[bytes] = []
    for number, wire, value, raw in _pieces(data):
        field = fields.get(number)
        if field is None:
            unknown.append(raw)
        elif field.mapped:
            found.setdefault(field.name, {}).update([_entry(field, value, depth)])
        elif field.repeated:
            found.setdefault(field.name, []).extend(_values(field, wire, value, depth))
        else:
            found[field.name] = _value(field, wire, value, depth)
    listed = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
    made = cast("Callable[..., M]", kind)
    return made(**listed, unknown=b"".join(unknown))


def _entry(field: _Field, value: Any, depth: int) -> tuple[Any, Any]:
    key = field.key()
    held = field.type() if field.wire != _BYTES or field.type in (str, bytes) else _decode(field.type, b"", depth + 1)
    for number, wire, inner, _ in _pieces(_expect_bytes(value)):
        if number == 1:
            key = _value(_Field("key", 1, field.key), wire, inner, depth)
        elif number == 2:
            held = _value(field, wire, inner, depth)
    return key, held


def _values(field: _Field, wire: int, value: Any, depth: int) -> Iterator[Any]:
    """Yield the values of one piece of a list: one, or many numbers packed together."""
    if wire != _BYTES or field.wire == _BYTES:
        yield _value(field, wire, value, depth)
        return
    position = 0
    while position < len(value):
        if field.wire == _FIXED64:
            number: Any = value[position : position + 8]
            position += 8
        else:
            number, position = _read_varint(value, position)
        yield _value(field, field.wire, number, depth)


def _value(field: _Field, wire: int, value: Any, depth: int) -> Any:
    if wire != field.wire:
        raise ValueError(f"field {field.name} (number {field.number}) travels as type {wire}, not {field.wire}")
    if wire == _VARINT:
        signed = value - _WRAP if value >= _SIGN else value
        return field.type(signed)
    if wire == _FIXED64:
        return struct.unpack("<d", value)[0]
    if field.type is bytes:
        return value
    if field.type is str:
        return value.decode()
    return _decode(field.type, value, depth + 1)


def _expect_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("an entry of a map is not a message")  # noqa: TRY004 - the data is wrong, not the program
    return value


def _pieces(data: bytes) -> Iterator[tuple[int, int, Any, bytes]]:
    """Yield number, wire type, value and the raw bytes of each field."""
    position = 0
    while position < len(data):
        start = position
        tag, position = _read_varint(data, position)
        number, wire = tag >> 3, tag & 7
        value: Any
        if wire == _VARINT:
            value, position = _read_varint(data, position)
        elif wire in (_BYTES, _FIXED64, _FIXED32):
            length = {_FIXED64: 8, _FIXED32: 4}.get(wire)
            if length is None:
                length, position = _read_varint(data, position)
            value, position = data[position : position + length], position + length
        else:
            raise ValueError(f"field {number} has wire type {wire}, which Vitess never writes")
        if position > len(data):
            raise ValueError(f"field {number} is cut off")
        yield number, wire, value, data[start:position]


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % _WRAP, position
        shift += 7
    raise ValueError("a number is cut off")
