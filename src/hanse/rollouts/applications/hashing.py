"""The hash of an environment, by which a release is told from another: Shipper's, to the digit.

It is taken over the JSON that Go writes of Shipper's own types: fields in the order of their declaration, maps sorted,
some empty fields left out, and a few characters escaped that other writers leave alone. Fields that Hanse added follow
those of Shipper where they are present, and so change no hash where they are not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from hanse.kube.manifest import Obj

_START = 2166136261
_PRIME = 16777619
_WORD = 0xFFFFFFFF
# What Go escapes lest JSON be read as HTML or as JavaScript, and how it writes two control characters.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_CONTROLS = {"\\b": "\\u0008", "\\f": "\\u000c"}
# From here on, and below here, Go writes a number with an exponent.
_LARGE, _SMALL = 1e21, 1e-6


def environment_hash(environment: Obj) -> str:
    """Return an environment's hash as it stands in names: hexadecimal, without leading zeros."""
    return f"{fnv1a_32(go_json(_environment(environment)).encode()):x}"


def same_environment(one: Obj, other: Obj) -> bool:
    """Tell whether two environments are one release."""
    # Hashing a megabyte of values takes a moment, and most of the time nobody changed them.
    return one == other or environment_hash(one) == environment_hash(other)


def fnv1a_32(data: bytes) -> int:
    """Hash as Go's hash/fnv New32a does: xor, then multiply."""
    state = _START
    for byte in data:
        state = ((state ^ byte) * _PRIME) & _WORD
    return state


def go_json(value: Any) -> str:
    """Write a value as Go's encoding/json does; mappings keep their order."""
    return "".join(_written(value))


def _written(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for place, (name, held) in enumerate(value.items()):
            yield ("," if place else "") + _text(str(name)) + ":"
            yield from _written(held)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for place, held in enumerate(value):
            yield "," if place else ""
            yield from _written(held)
        yield "]"
    elif isinstance(value, str):
        yield _text(value)
    elif isinstance(value, float):
        yield _float(value)
    else:
        yield json.dumps(value)


def _text(value: str) -> str:
    written = json.dumps(value, ensure_ascii=False)
    # Python leaves a backslash of the text doubled, so that one before b or f is an escape only if it stands alone.
    halves = written.split("\\\\")
    for plain, escaped in (*_CONTROLS.items(), *_ESCAPES.items()):
        halves = [half.replace(plain, escaped) for half in halves]
    return "\\\\".join(halves)


def _float(value: float) -> str:
    size = abs(value)
    if size and (size < _SMALL or size >= _LARGE):
        digits, _, exponent = f"{Decimal(repr(value)).normalize():e}".partition("e")
        return f"{digits}e{exponent[0]}{exponent[1:].zfill(2) if exponent[0] == '+' else exponent[1:]}"
    return f"{Decimal(repr(value)):f}".removesuffix(".0")


def _environment(raw: Obj) -> Obj:
    chart = {"chart": _chart(raw["chart"]), "values": _sorted(raw.get("values"))} if raw.get("chart") else {}
    known: Obj = {**chart, "clusterRequirements": _requirements(raw.get("clusterRequirements") or {})}
    if raw.get("strategy") is not None:
        known["strategy"] = _strategy(raw["strategy"])
    return _followed(known, raw)


def _chart(raw: Obj) -> Obj:
    return _followed({name: raw.get(name) or "" for name in ("name", "version", "repoUrl")}, raw)


def _requirements(raw: Obj) -> Obj:
    regions = raw.get("regions")
    known: Obj = {"regions": None if regions is None else [_region(each) for each in regions]}
    if raw.get("capabilities"):
        known["capabilities"] = raw["capabilities"]
    return _followed(known, raw)


def _region(raw: Obj) -> Obj:
    known: Obj = {"name": raw.get("name") or ""}
    if raw.get("replicas") is not None:
        known["replicas"] = raw["replicas"]
    return _followed(known, raw)


def _strategy(raw: Obj) -> Obj:
    steps = raw.get("steps")
    return _followed({"steps": None if steps is None else [_step(each) for each in steps]}, raw)


def _step(raw: Obj) -> Obj:
    known = {
        "name": raw.get("name") or "",
        "capacity": _pair(raw.get("capacity") or {}),
        "traffic": _pair(raw.get("traffic") or {}),
    }
    return _followed(known, raw)


def _pair(raw: Obj) -> Obj:
    return _followed({name: raw.get(name) or 0 for name in ("incumbent", "contender")}, raw)


def _followed(known: Obj, raw: Obj) -> Obj:
    """Return Shipper's fields followed by all others that are there."""
    return known | {name: _sorted(raw[name]) for name in sorted(raw) if name not in known and raw[name]}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(each) for each in value]
    return value
