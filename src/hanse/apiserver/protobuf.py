"""Kubernetes' protobuf, read into plain manifests.

kubectl's typed commands and most Go clients send built-in kinds as `application/vnd.kubernetes.protobuf`: a magic
number, an envelope that names the kind, and the object. A packaged table gives for each message its field numbers,
JSON names and types, so that one generic reader serves all kinds. The result is what Go would print for the same
object as JSON: fields that it omits when empty are omitted, the others are there with their zero value.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from hanse.kube.manifest import Obj
from hanse.kube.runtime import timestamp
from hanse.kube.schemas.go_shape import go_types

MAGIC = b"k8s\x00"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Deeper than any real object; a hostile one must not exhaust the stack.
_DEEPEST = 100
# What RFC 3339 can write: the years 1 to 9999.
_EARLIEST, _LATEST = -62135596800, 253402300799


def decode(body: bytes) -> Obj:
    """Return the manifest in a protobuf body; raises ValueError for bytes that are not one, or of an unknown kind."""
    if not body.startswith(MAGIC):
        raise ValueError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    api_version, kind, raw = _envelope(body[len(MAGIC) :])
    index = _index_of(api_version, kind)
    if index is None:
        raise ValueError(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"kind": kind, "apiVersion": api_version, **_read_message(index, raw, 0)}


def _envelope(data: bytes) -> tuple[str, str, bytes]:
    """Return apiVersion, kind and the object's bytes from a runtime.Unknown."""
    names = {1: "", 2: ""}
    raw = b""
    for number, _, value in _fields(data):
        if number == 1 and isinstance(value, bytes):
            names |= {inner: _text(text) for inner, _, text in _fields(value) if isinstance(text, bytes)}
        elif number == 2 and isinstance(value, bytes):
            raw = value
    return names[1], names[2], raw


@dataclass(frozen=True, slots=True)
class _Field:
    """How one field of a message is written as JSON."""

    name: str
    type: int | str
    repeated: bool
    mapped: bool
    wrapped: bool
    """A list that travels in a message of its own."""
    pointer: bool
    omit_empty: bool
    omit_zero: bool
    inline: bool

    @property
    def is_struct(self) -> bool:
        """Whether Go has a struct here, which omitempty never omits: a zero time is null."""
        plural = self.repeated or self.mapped or self.wrapped
        return not plural and not self.pointer and self.type in ("time", "microtime", "raw", "json")

    @classmethod
    def read(cls, name: str, kind: int | str, flags: str) -> _Field:
        return cls(name, kind, *(flag in flags for flag in "rmlpozi"))


def _index_of(api_version: str, kind: str) -> int | None:
    found: int | None = go_types()["kinds"].get(f"{api_version}/{kind}")
    return found


@cache
def _message(index: int) -> dict[int, _Field]:
    return {number: _Field.read(*rest) for number, *rest in go_types()["messages"][index]}


def _read_message(index: int, data: Any, depth: int) -> Obj:
    """Return a message as a dict, in the order of its fields."""
    if depth > _DEEPEST:
        raise ValueError("the object is nested too deeply")
    found: dict[int, list[Any]] = {}
    for number, wire, value in _fields(_as_bytes(data)):
        found.setdefault(number, []).append((wire, value))
    result: Obj = {}
    for number, field in _message(index).items():
        values = found.get(number, [])
        if field.inline:
            result |= _inlined(field, values, depth)
        else:
            _put(result, field, values, depth)
    return result


def _inlined(field: _Field, values: list[Any], depth: int) -> Obj:
    if field.pointer and not values:
        return {}
    return _read_message(int(field.type), values[-1][1] if values else b"", depth + 1)


def _put(result: Obj, field: _Field, values: list[Any], depth: int) -> None:
    value = _collected(field, values, depth)
    if value is None:
        if field.omit_zero or (field.omit_empty and not field.is_struct):
            return
    elif field.omit_empty and not field.pointer and _is_empty(value, field):
        return
    result[field.name] = value


def _is_empty(value: Any, field: _Field) -> bool:
    if field.repeated or field.mapped or field.wrapped:
        return not value
    return field.type in ("string", "bool", "int", "double", "bytes") and not value


def _collected(field: _Field, values: list[Any], depth: int) -> Any:
    """Return a field's value; None where Go has nil."""
    if field.mapped:
        return dict(_entry(field, value, depth) for _, value in values) or None
    if field.wrapped:
        return _unwrapped(field, values[-1][1], depth) if values else None
    if field.repeated:
        return [each for wire, value in values for each in _each(field, wire, value, depth)] or None
    if values:
        return _value(field.type, values[-1][1], depth)
    return None if field.pointer else _zero(field.type, depth)


def _entry(field: _Field, data: Any, depth: int) -> tuple[str, Any]:
    parts = _numbers(data)
    key = _text(parts.get(1, b""))
    if field.wrapped:
        return key, _unwrapped(field, parts.get(2, b""), depth)
    return key, _value(field.type, parts[2], depth) if 2 in parts else _zero(field.type, depth)


def _unwrapped(field: _Field, data: Any, depth: int) -> list[Any]:
    return [_value(field.type, value, depth) for number, _, value in _fields(_as_bytes(data)) if number == 1]


def _each(field: _Field, wire: int, value: Any, depth: int) -> Iterator[Any]:
    """Yield the elements in one occurrence of a repeated field: one, or several numbers packed together."""
    if wire == _BYTES and field.type in ("int", "bool"):
        at = 0
        while at < len(value):
            number, at = _varint(value, at)
            yield _value(field.type, number, depth)
    else:
        yield _value(field.type, value, depth)


def _value(kind: int | str, value: Any, depth: int) -> Any:
    if isinstance(kind, int):
        return _read_message(kind, value, depth + 1)
    name, _, argument = kind.partition(":")
    if argument:
        return _schema_or(name, int(argument), _as_bytes(value), depth)
    return _READERS[name](value)


def _zero(kind: int | str, depth: int) -> Any:
    if isinstance(kind, int):
        return _read_message(kind, b"", depth + 1)
    return _ZEROS.get(kind)


def _schema_or(name: str, schema: int, data: bytes, depth: int) -> Any:
    """Read what a JSON schema allows beside a schema: a boolean, several schemas, or names."""
    parts: dict[int, list[Any]] = {}
    for number, _, value in _fields(data):
        parts.setdefault(number, []).append(value)
    if name == "schemaorbool":
        if 2 in parts:
            return _read_message(schema, parts[2][-1], depth + 1)
        return _bool(parts.get(1, [0])[-1])
    if 2 in parts and name == "schemaorarray":
        return [_read_message(schema, value, depth + 1) for value in parts[2]]
    if 2 in parts:
        return [_text(value) for value in parts[2]]
    return _read_message(schema, parts[1][-1], depth + 1) if 1 in parts else None


def _as_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("proto: wrong wireType")  # noqa: TRY004 - bad bytes, not a bad argument
    return value


def _as_int(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError("proto: wrong wireType")  # noqa: TRY004 - bad bytes, not a bad argument
    return value


def _text(value: Any) -> str:
    return _as_bytes(value).decode("utf-8", errors="replace")


def _bool(value: Any) -> bool:
    return bool(_as_int(value))


def _signed(value: Any) -> int:
    number = _as_int(value)
    return number - 2**64 if number >= 2**63 else number


def _bytes(value: Any) -> str:
    return base64.b64encode(_as_bytes(value)).decode()


def _double(value: Any) -> float:
    raw = _as_bytes(value)
    if len(raw) != 8:
        raise ValueError("proto: wrong wireType")
    number: float = struct.unpack("<d", raw)[0]
    return number


def _numbers(value: Any) -> dict[int, Any]:
    return {number: inner for number, _, inner in _fields(_as_bytes(value))}


def _instant(value: Any) -> tuple[int, int] | None:
    """Return a time's seconds and nanoseconds; None for Go's zero time, which travels as an empty message."""
    parts = _numbers(value)
    seconds, nanos = _signed(parts.get(1, 0)), _signed(parts.get(2, 0))
    if not _EARLIEST <= seconds <= _LATEST:
        raise ValueError(f"Time.UnmarshalProto: year outside of range [0,9999]: {seconds} s")
    return (seconds, nanos) if seconds or nanos else None


def _time(value: Any) -> str | None:
    instant = _instant(value)
    return None if instant is None else timestamp(instant[0])


def _micro_time(value: Any) -> str | None:
    instant = _instant(value)
    if instant is None:
        return None
    seconds, nanos = instant
    # A float of seconds would lose the last digit.
    return timestamp(seconds).replace("Z", f".{nanos // 1000:06d}Z")


def _quantity(value: Any) -> str:
    return _text(_numbers(value).get(1, b"")) or "0"


def _int_or_string(value: Any) -> int | str:
    parts = _numbers(value)
    if _signed(parts.get(1, 0)):
        return _text(parts.get(3, b""))
    return _signed(parts.get(2, 0))


def _json(value: Any) -> Any:
    raw = _as_bytes(_numbers(value).get(1, b""))
    return orjson.loads(raw) if raw else None


def _raw(value: Any) -> Any:
    """Read an object inside an object: JSON, or an envelope of its own."""
    raw = _as_bytes(_numbers(value).get(1, b""))
    if raw.startswith(MAGIC):
        return decode(raw)
    return orjson.loads(raw) if raw else None


def _duration(value: Any) -> str:
    """Write nanoseconds as Go does: 1h2m3.5s."""
    nanos = _signed(_numbers(value).get(1, 0))
    sign, nanos = ("-", -nanos) if nanos < 0 else ("", nanos)
    if nanos < 10**9:
        for size, unit in ((10**6, "ms"), (10**3, "µs"), (1, "ns")):
            if nanos >= size:
                return f"{sign}{nanos / size:.9g}{unit}"
        return "0s"
    minutes, rest = divmod(nanos, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest // 10**9}.{rest % 10**9:09d}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


_READERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "bool": _bool,
    "int": _signed,
    "double": _double,
    "bytes": _bytes,
    "time": _time,
    "microtime": _micro_time,
    "duration": _duration,
    "quantity": _quantity,
    "intorstring": _int_or_string,
    "json": _json,
    "raw": _raw,
}
_ZEROS: dict[str, Any] = {
    "string": "",
    "bool": False,
    "int": 0,
    "double": 0,
    "quantity": "0",
    "intorstring": 0,
    "duration": "0s",
}


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yield number, wire type and value of each field; varints as unsigned integers, the rest as bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, wire, value
            continue
        if wire == _BYTES:
            length, at = _varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"proto: illegal wireType {wire}")
        if at + length > len(data):
            raise ValueError("unexpected EOF")
        yield number, wire, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while at < len(data):
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift >= 70:
            raise ValueError("proto: integer overflow")
    raise ValueError("unexpected EOF")
