"""From a manifest to what expressions see of it: escaped names, times as times, numbers as their schema says."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from typing import Any

from hanse.kube.cel import engine
from hanse.kube.cel.declared import escaped
from hanse.kube.schemas import Schema

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PIECE = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|us|µs|ns|m|s)")


def visible(value: Any, schema: Schema | None) -> Any:
    """Return a value as expressions see it under its schema."""
    if schema is None or schema.int_or_string:
        return value
    if isinstance(value, dict):
        return _object(value, schema)
    if isinstance(value, list):
        return [visible(inner, schema.items) for inner in value]
    if isinstance(value, str) and schema.format:
        return _formatted(value, schema.format)
    if schema.type == "number" and isinstance(value, int):
        return float(value)
    return value


def _object(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    if schema.additional is not None:
        return {key: visible(inner, schema.additional) for key, inner in value.items()}
    seen = {}
    for key, inner in value.items():
        name = escaped(key)
        if name is not None:
            seen[name] = visible(inner, schema.properties.get(key))
    return seen


def _formatted(value: str, form: str) -> Any:
    try:
        match form:
            case "byte":
                return base64.b64decode(value)
            case "date-time" | "date":
                moment = datetime.fromisoformat(value)
                moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
                return engine.timestamp(int(moment.timestamp() // 1), moment.microsecond * 1000)
            case "duration":
                return _duration(value)
    except ValueError:
        # Schema validation speaks of a malformed value; a rule just sees the text.
        return value
    return value


def _duration(value: str) -> Any:
    sign = -1 if value.startswith("-") else 1
    pieces = _PIECE.findall(value)
    if "".join(number + unit for number, unit in pieces) != value.lstrip("+-") or not pieces:
        return value
    nanos = sign * round(sum(float(number) * _UNITS[unit] for number, unit in pieces) * 1e9)
    return engine.duration(nanos // 10**9, nanos % 10**9)
