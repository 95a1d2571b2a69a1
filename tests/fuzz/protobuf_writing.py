"""Kubernetes' protobuf, written from plain manifests with the table that the server reads it by."""

from __future__ import annotations

import base64
import struct
from functools import cache
from typing import Any

import orjson

from hanse.apiserver.protobuf import MAGIC
from hanse.kube.schemas.go_shape import go_types

Obj = dict[str, Any]
_DEEPEST = 60


def encode(obj: Obj) -> bytes | None:
    """Return a manifest as protobuf; None for kinds that do not travel so."""
    api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    index = go_types()["kinds"].get(f"{api_version}/{kind}")
    if index is None:
        return None
    names = _lengthed(1, api_version.encode()) + _lengthed(2, kind.encode())
    return MAGIC + _lengthed(1, names) + _lengthed(2, _message(index, obj, 0))


@cache
def _fields(index: int) -> tuple[Any, ...]:
    return tuple(go_types()["messages"][index])


def varint(number: int) -> bytes:
    """Return a number as a varint."""
    number &= 2**64 - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _lengthed(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def _message(index: int, obj: Any, depth: int) -> bytes:
    if not isinstance(obj, dict) or depth > _DEEPEST:
        return b""
    out = b""
    for number, name, kind, flags in _fields(index):
        value = obj if "i" in flags else obj.get(name)
        if value is None:
            continue
        out += _field(number, kind, flags, value, depth)
    return out


def _field(number: int, kind: Any, flags: str, value: Any, depth: int) -> bytes:
    if "m" in flags and isinstance(value, dict):
        entries = (
            _lengthed(1, str(key).encode(errors="replace")) + _one(2, kind, inner, depth)
            for key, inner in value.items()
        )
        return b"".join(_lengthed(number, entry) for entry in entries)
    if "l" in flags and isinstance(value, list):
        return _lengthed(number, b"".join(_one(1, kind, each, depth) for each in value))
    if "r" in flags and isinstance(value, list):
        return b"".join(_one(number, kind, each, depth) for each in value)
    return _one(number, kind, value, depth)


def _one(number: int, kind: Any, value: Any, depth: int) -> bytes:
    if isinstance(kind, int):
        return _lengthed(number, _message(kind, value, depth + 1))
    if kind in ("bool", "int"):
        return varint(number << 3) + varint(int(value) if isinstance(value, int) else 0)
    if kind == "double":
        return varint(number << 3 | 1) + struct.pack("<d", value if isinstance(value, float) else 0.0)
    return _lengthed(number, _leaf(kind, value))


def _leaf(kind: str, value: Any) -> bytes:
    text = str(value).encode(errors="replace")
    if kind == "quantity":
        return _lengthed(1, text)
    if kind in ("raw", "json"):
        try:
            return _lengthed(1, orjson.dumps(value))
        except TypeError:
            return _lengthed(1, text)
    if kind == "intorstring":
        if isinstance(value, int):
            return varint(2 << 3) + varint(value)
        return varint(1 << 3) + varint(1) + _lengthed(3, text)
    if kind in ("time", "microtime"):
        return varint(1 << 3) + varint(1767225600)
    if kind == "bytes":
        try:
            return base64.b64decode(text)
        except ValueError:
            return text
    return b"" if kind == "duration" or kind.startswith("schema") else text
