"""What a schema does to a manifest: drop unknown fields, fill defaults, find mistakes.

The first two change the object in place, as they run on a freshly decoded request that nobody else holds.
"""

from __future__ import annotations

from typing import Any

from hanse.kube.schemas.decoding import DecodeErrors, decode_errors
from hanse.kube.schemas.schema import Schema
from hanse.kube.schemas.validation import FieldError, validate

__all__ = ["DecodeErrors", "FieldError", "decode_errors", "drop_nulls", "fill_defaults", "prune", "validate"]


_NOTHING_KNOWN = Schema()


def prune(schema: Schema, obj: Any) -> list[str]:
    """Remove fields that the schema does not know; return their paths, sorted: `spec.containers[0].bar`."""
    removed: list[str] = []
    _prune(schema, obj, "", removed)
    removed.sort()
    return removed


def _prune(schema: Schema, value: Any, path: str, removed: list[str]) -> None:
    if isinstance(value, dict):
        unknown = []
        properties, additional = schema.properties, schema.additional
        for key, inner in value.items():
            child = properties.get(key) or additional
            if child is not None:
                if isinstance(inner, dict | list):
                    _prune(child, inner, f"{path}.{key}" if path else key, removed)
            elif not schema.preserve_unknown:
                unknown.append(key)
        for key in unknown:
            del value[key]
            removed.append(f"{path}.{key}" if path else key)
    elif isinstance(value, list) and (schema.items is not None or not schema.preserve_unknown):
        items = schema.items or _NOTHING_KNOWN
        for index, inner in enumerate(value):
            if isinstance(inner, dict | list):
                _prune(items, inner, f"{path}[{index}]", removed)


def drop_nulls(schema: Schema, value: Any) -> None:
    """Remove nulls from fields that are neither nullable nor have a default, as a server does before defaulting."""
    if isinstance(value, dict):
        dropped = []
        for key, inner in value.items():
            child = schema.child(key)
            if child is None:
                continue
            if inner is None:
                if not child.nullable and child.default is None:
                    dropped.append(key)
            elif isinstance(inner, dict | list):
                drop_nulls(child, inner)
        for key in dropped:
            del value[key]
    elif isinstance(value, list) and schema.items is not None:
        for inner in value:
            drop_nulls(schema.items, inner)


def fill_defaults(schema: Schema, obj: Any) -> None:
    """Set the schema's defaults where a field is missing, or null although it may not be (CRD rules).

    Not for built-in kinds: what their definitions call a default is Go's zero value as often as not.
    """
    if isinstance(obj, dict):
        _fill_object(schema, obj)
    elif isinstance(obj, list) and schema.items is not None:
        for index, inner in enumerate(obj):
            if inner is None and not schema.items.nullable:
                obj[index] = inner = _copied(schema.items.default)
            fill_defaults(schema.items, inner)


def _fill_object(schema: Schema, obj: dict[str, Any]) -> None:
    for key, child in schema.properties.items():
        if child.default is not None and obj.get(key) is None and (key not in obj or not child.nullable):
            obj[key] = _copied(child.default)
    for key, inner in obj.items():
        declared: Schema | None = schema.properties.get(key)
        if declared is None and schema.additional is not None:
            declared = schema.additional
            if inner is None and not declared.nullable:
                obj[key] = inner = _copied(declared.default)
        if declared is not None and isinstance(inner, dict | list):
            fill_defaults(declared, inner)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_copied(inner) for inner in value]
    return value
