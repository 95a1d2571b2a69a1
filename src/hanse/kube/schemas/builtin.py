"""The schemas of the kinds that every Kubernetes API server has, read from packaged tables."""

from __future__ import annotations

import lzma
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from hanse.kube.manifest import Obj
from hanse.kube.schemas.schema import Schema, read_keywords

_REFERENCE = "#/components/schemas/"
_GVK = "x-kubernetes-group-version-kind"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
OBJECT_META = f"{_META}ObjectMeta"

_RAW_EXTENSION = "io.k8s.apimachinery.pkg.runtime.RawExtension"

# Go types that take any JSON although their definitions look like an empty object.
_ANYTHING = frozenset(
    {
        _RAW_EXTENSION,
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
        f"{_META}FieldsV1",
        f"{_META}Patch",
    }
)


def _load(name: str) -> dict[str, Any]:
    packed = Path(__file__).with_name(name).read_bytes()
    table: dict[str, Any] = orjson.loads(lzma.decompress(packed))
    return table


@cache
def openapi_definitions() -> dict[str, Any]:
    """Return every definition of the built-in kinds by name, with descriptions, as OpenAPI v3 serves them."""
    return _load("openapi.json.xz")


@cache
def _structure() -> dict[str, Any]:
    return _load("structure.json.xz")


@cache
def _names_by_kind() -> dict[tuple[str, str, str], str]:
    return {
        (kind["group"], kind["version"], kind["kind"]): name
        for name, definition in _structure().items()
        for kind in definition.get(_GVK, ())
    }


def schema_for(group: str, version: str, kind: str) -> Schema | None:
    """Return the schema of a built-in kind; None for a kind that Kubernetes does not have."""
    name = _names_by_kind().get((group, version, kind))
    return None if name is None else definition(name)


@cache
def definition(name: str) -> Schema:
    """Return the schema of a definition by its full name, such as io.k8s.api.core.v1.PodSpec."""
    raw = _structure()[name]
    arguments = read_keywords(raw, _build)
    if name in _ANYTHING:
        arguments |= {"preserve_unknown": True, "type": ""}
        if name == _RAW_EXTENSION:
            # Nobody owns a part of another kind's object.
            arguments["map_type"] = "atomic"
    elif arguments.get("format") == "int-or-string":
        arguments |= {"int_or_string": True, "one_of": ()}
    return Schema(name=name, **arguments)


def _build(raw: Obj) -> Schema:
    """Make a schema below a definition; a reference keeps the markers and the default written beside it."""
    reference = raw.get("$ref") or _only_reference(raw)
    if not reference:
        return Schema(**read_keywords(raw, _build))
    beside = {key: value for key, value in raw.items() if key not in ("$ref", "allOf")}
    target = definition(reference.removeprefix(_REFERENCE))
    return replace(target, **read_keywords(beside, _build)) if beside else target


def _only_reference(raw: Obj) -> str:
    branches: list[Obj] = raw.get("allOf") or []
    return str(branches[0].get("$ref", "")) if len(branches) == 1 else ""
