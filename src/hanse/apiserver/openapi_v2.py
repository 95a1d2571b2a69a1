"""The OpenAPI document of version 2: every kind's definition, as older clients and code generators ask for it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import orjson

from hanse.kube.manifest import Obj
from hanse.kube.schemas import openapi_definitions

_REFERENCE = "#/components/schemas/"
_OPEN = "x-kubernetes-preserve-unknown-fields"
# What version 2 has no words for.
_JUNCTORS = ("allOf", "anyOf", "not", "nullable", "oneOf")


def swagger(custom: Obj) -> bytes:
    """Return the document with the definitions of custom kinds, which are given as version 3 has them, by name."""
    definitions = {name: custom_definition(schema) for name, schema in custom.items()}
    return _document(orjson.dumps(definitions))


@lru_cache(maxsize=2)
def _document(custom: bytes) -> bytes:
    info = {"title": "Kubernetes", "version": "unversioned"}
    definitions = {**_builtin(), **orjson.loads(custom)}
    return orjson.dumps({"swagger": "2.0", "info": info, "paths": {}, "definitions": definitions})


@lru_cache(maxsize=1)
def _builtin() -> Obj:
    return {name: _referring(one) for name, one in openapi_definitions().items()}


def custom_definition(schema: Obj) -> Obj:
    """Return a custom kind's definition in the words of version 2.

    One that takes anything at its root says nothing of its fields, or clients would refuse all others.
    """
    if schema.get(_OPEN):
        kept = ("x-kubernetes-group-version-kind",)
        return {"type": "object", **{name: schema[name] for name in kept if name in schema}}
    meta = {"metadata": schema["properties"]["metadata"]} if "metadata" in (schema.get("properties") or {}) else {}
    told = _simplified(schema)
    return {**told, "properties": {**told.get("properties", {}), **_referring(meta)}}


def _simplified(schema: Obj) -> Obj:
    """Return a structural schema without what version 2 cannot say; what remains is never stricter than it was."""
    told = {name: value for name, value in schema.items() if name not in _JUNCTORS}
    if schema.get("nullable"):
        for name in ("type", "items", "properties"):
            told.pop(name, None)
    if schema.get(_OPEN):
        for name in ("items", "properties"):
            told.pop(name, None)
    # Clients cannot cope with a list of unknown entries, nor with an object that may hold anything.
    if (told.get("type") == "array" and "items" not in told) or (told.get("type") == "object" and schema.get(_OPEN)):
        del told["type"]
    return _simplified_parts(told)


def _simplified_parts(told: Obj) -> Obj:
    if properties := told.get("properties"):
        told["properties"] = {name: _simplified(one) for name, one in properties.items()}
        required = [name for name in told.get("required") or () if not (properties.get(name) or {}).get("nullable")]
        if "required" in told:
            told["required"] = required
    for name in ("items", "additionalProperties"):
        if isinstance(told.get(name), dict):
            told[name] = _simplified(told[name])
    return {name: value for name, value in told.items() if name != "required" or value}


def _referring(value: Any) -> Any:
    if isinstance(value, dict):
        rewritten = {key: _referring(inner) for key, inner in value.items()}
        # Version 2 has no room for anything beside a reference, and version 3 wraps one to make that room.
        branches = rewritten.pop("allOf", None)
        if isinstance(branches, list) and len(branches) == 1:
            rewritten = {**rewritten, **branches[0]}
        if isinstance(rewritten.get("$ref"), str):
            rewritten["$ref"] = rewritten["$ref"].replace(_REFERENCE, "#/definitions/")
        return rewritten
    return [_referring(inner) for inner in value] if isinstance(value, list) else value
