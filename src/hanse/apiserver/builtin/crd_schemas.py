"""Whether a CRD's schema is structural: every node has a type, lists of keyed objects can be told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hanse.apiserver.status import (
    FieldProblem,
    forbidden_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from hanse.kube.manifest import Obj
from hanse.kube.schemas import schema_from_crd
from hanse.kube.schemas.validation import validate

_LIST_TYPE = "x-kubernetes-list-type"
_LIST_KEYS = "x-kubernetes-list-map-keys"
_NESTING = frozenset({"properties", "items", "additionalProperties"})
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_FIELD = "must not be empty for specified object fields"
_ITEM = "must not be empty for specified array items"


def schema_problems(schema: Obj, field: str) -> Iterator[FieldProblem]:
    """Yield what keeps a version's schema from being structural."""
    kind = schema.get("type")
    if not kind:
        yield required_value(f"{field}.type", "must not be empty at the root")
    elif kind != "object":
        yield invalid_value(f"{field}.type", kind, "must be object at the root")
    yield from _below(schema, field)


def _node(schema: Any, field: str, untyped: str) -> Iterator[FieldProblem]:
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if not kind and not _may_lack_type(schema):
        yield required_value(f"{field}.type", untyped)
    elif kind and kind not in _TYPES:
        yield unsupported_value(f"{field}.type", kind, _TYPES)
    elif kind and schema.get("default") is not None:
        yield from _default_problems(schema, field)
    if schema.get("type") == "array" and schema.get("items") is None:
        yield required_value(f"{field}.items", "must be specified")
    if schema.get("x-kubernetes-embedded-resource") and schema.get("type") not in (None, "", "object"):
        told = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid_value(f"{field}.type", schema["type"], told)
    if _LIST_TYPE in schema or _LIST_KEYS in schema:
        yield from _list_problems(schema, field)
    # Most nodes of a large schema are leaves.
    if not _NESTING.isdisjoint(schema):
        yield from _below(schema, field)


def _default_problems(schema: Obj, field: str) -> Iterator[FieldProblem]:
    built = schema_from_crd(schema)
    for error in validate(built, schema["default"]):
        below = f".{error.path}" if error.path else ""
        yield FieldProblem(f"{field}.default{below}", error.reason, error.message)


def _may_lack_type(schema: Obj) -> bool:
    return bool(schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields"))


def _below(schema: Obj, field: str) -> Iterator[FieldProblem]:
    for name, child in sorted((schema.get("properties") or {}).items()):
        # The server itself knows these of every object.
        if name not in ("metadata", "apiVersion", "kind") or not field.endswith("openAPIV3Schema"):
            yield from _node(child, f"{field}.properties[{name}]", _FIELD)
    yield from _node(schema.get("items"), f"{field}.items", _ITEM)
    yield from _node(schema.get("additionalProperties"), f"{field}.additionalProperties", _FIELD)


def _list_problems(schema: Obj, field: str) -> Iterator[FieldProblem]:
    list_type, keys = schema.get(_LIST_TYPE), schema.get(_LIST_KEYS) or []
    if list_type is None:
        if keys:
            told = "must be map if x-kubernetes-list-map-keys is non-empty"
            yield required_value(f"{field}.{_LIST_TYPE}", told)
        return
    if list_type not in ("atomic", "set", "map"):
        yield unsupported_value(f"{field}.{_LIST_TYPE}", list_type, ("atomic", "set", "map"))
    if schema.get("type") != "array":
        told = "must be array if x-kubernetes-list-type is specified"
        yield invalid_value(f"{field}.type", schema.get("type") or "", told)
    if list_type == "map":
        yield from _keyed_list_problems(schema, field, keys)


def _keyed_list_problems(schema: Obj, field: str, keys: list[str]) -> Iterator[FieldProblem]:
    if not keys:
        yield required_value(f"{field}.{_LIST_KEYS}", "must not be empty if x-kubernetes-list-type is map")
    items = schema.get("items")
    if not isinstance(items, dict):
        yield required_value(f"{field}.items", "must have a schema if x-kubernetes-list-type is map")
        return
    required = items.get("required") or []
    for key in keys:
        child = (items.get("properties") or {}).get(key)
        at = f"{field}.items.properties[{key}]"
        if child is None:
            told = "entries must all be names of item properties"
            yield invalid_value(f"{field}.{_LIST_KEYS}", keys, told)
            continue
        marked = "this property is in x-kubernetes-list-map-keys, so it"
        if key not in required and child.get("default") is None:
            yield required_value(f"{at}.default", f"{marked} must have a default or be a required property")
        if child.get("nullable"):
            yield forbidden_value(f"{at}.nullable", f"{marked} cannot be nullable")
