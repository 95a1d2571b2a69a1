"""Schemas that a CustomResourceDefinition declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hanse.kube.manifest import Obj
from hanse.kube.schemas.builtin import OBJECT_META, definition
from hanse.kube.schemas.schema import Properties, Schema, read_keywords

_TEXT = Schema(type="string")


def schema_from_crd(openapi_v3_schema: Obj) -> Schema:
    """Return the schema of a custom resource from a version's `openAPIV3Schema`.

    Like the server, it knows apiVersion, kind and metadata whether or not they are declared; of metadata a CRD may
    only restrict the names.
    """
    return _as_resource(openapi_v3_schema)


def _build(raw: Obj) -> Schema:
    if raw.get("x-kubernetes-embedded-resource"):
        return _as_resource(raw)
    return Schema(**read_keywords(raw, _build))


def _as_resource(raw: Obj) -> Schema:
    declared = raw.get("properties") or {}
    metadata = _object_meta(declared.get("metadata") or {})
    # The three are looked up among the others, which stay unbuilt until they are needed.
    known = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": metadata}
    arguments = read_keywords(raw, _build)
    merged = {**declared, **{name: declared.get(name) or {} for name in known}}
    arguments["properties"] = _Resource(merged, _build, known)
    return Schema(**arguments)


def _object_meta(declared: Obj) -> Schema:
    target = definition(OBJECT_META)
    names = {name: schema for name, schema in (declared.get("properties") or {}).items() if name in _NAMES}
    if not names:
        return target
    restricted = {name: _build(schema) for name, schema in names.items()}
    return replace(target, properties={**target.properties, **restricted})


_NAMES = ("name", "generateName")


class _Resource(Properties):
    """The children of a resource, of which the server knows some better than the CRD."""

    __slots__ = ()

    def __init__(self, raw: dict[str, Obj], build: Callable[[Obj], Schema], known: dict[str, Schema]) -> None:
        super().__init__(raw, build)
        self._built.update(known)
