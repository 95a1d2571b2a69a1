"""OpenAPI documents: what `kubectl explain`, `apply` and `diff` ask the server about its kinds.

One document a group and version, with the schemas that its kinds reach and its paths. The documents of built-in groups
are made when first asked for and shared by all servers of the process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import orjson

from hanse.apiserver.answers import Answer
from hanse.apiserver.kinds import BUILTIN
from hanse.apiserver.openapi_v2 import swagger
from hanse.apiserver.registry import Registry, Served
from hanse.kube.manifest import Obj, dig
from hanse.kube.schemas import openapi_definitions
from hanse.kube.transport import Request

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_REFERENCE = "#/components/schemas/"
_WRITE_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")
_PATCH_TYPES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_PROTOBUF_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
# A document of version 2 (fields 1 swagger, 2 info with 1 title and 2 version, 8 paths, 9 definitions) without any
# definition: kubectl asks for it only to check kinds that no document of version 3 has, such as List, and passes over a
# kind that it does not find.
_NO_DEFINITIONS = b"\x0a\x032.0\x12\x19\x0a\x0aKubernetes\x12\x0bunversioned\x42\x00\x4a\x00"


def answer(registry: Registry, path: str, request: Request) -> Answer | None:
    """Answer /openapi/v2, /openapi/v3 and a group's document; None for other paths."""
    if path == "/openapi/v2":
        if _PROTOBUF_ASKED in request.headers.get("accept", ""):
            return Answer(200, _NO_DEFINITIONS, content_type=_PROTOBUF)
        return _with_tag(swagger(_definitions([one for one in registry.all() if one.custom])), request)
    if path == "/openapi/v3":
        return Answer(200, orjson.dumps({"paths": {name: _entry(registry, name) for name in _names(registry)}}))
    name = path.removeprefix("/openapi/v3/")
    if name in _names(registry):
        return _with_tag(_document(registry, name), request)
    return None


def _with_tag(body: bytes, request: Request) -> Answer:
    tag = f'"{_hash(body)}"'
    headers = {"etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Answer(304, b"", headers=headers)
    return Answer(200, body, headers=headers)


def _hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest().upper()


def _names(registry: Registry) -> list[str]:
    names = []
    for group, versions in registry.groups().items():
        names += [f"apis/{group}/{version}" if group else f"api/{version}" for version in versions]
    return names


def _split(name: str) -> tuple[str, str]:
    group, _, version = name.removeprefix("apis/").rpartition("/")
    return ("" if group == "api" else group), version


def _entry(registry: Registry, name: str) -> Obj:
    # A built-in document never changes within a release; making each one just for its hash would cost every client.
    group, version = _split(name)
    told = name if (group, version) in BUILTIN else _hash(_document(registry, name))
    return {"serverRelativeURL": f"/openapi/v3/{name}?hash={_hash(told.encode())}"}


def _document(registry: Registry, name: str) -> bytes:
    group, version = _split(name)
    if (group, version) in BUILTIN:
        return _builtin_document(group, version)
    kinds = [one for one in registry.all() if (one.resource.group, one.resource.version) == (group, version)]
    return _encode(kinds, _custom_schemas(kinds))


@lru_cache(maxsize=64)
def _builtin_document(group: str, version: str) -> bytes:
    kinds = [one for one in Registry().all() if (one.resource.group, one.resource.version) == (group, version)]
    definitions = openapi_definitions()
    roots = [name for name, one in definitions.items() if _belongs(one, group, version)]
    return _encode(kinds, _closure(roots, definitions))


def _belongs(definition: Obj, group: str, version: str) -> bool:
    listed: list[Obj] = definition.get("x-kubernetes-group-version-kind") or []
    # Kinds of every group, such as DeleteOptions, belong to none in particular.
    return len(listed) == 1 and (listed[0].get("group"), listed[0].get("version")) == (group, version)


def _closure(roots: Iterable[str], definitions: Obj) -> Obj:
    found: Obj = {}
    waiting = [*roots, f"{_META}DeleteOptions", f"{_META}Patch", f"{_META}Status"]
    while waiting:
        name = waiting.pop()
        if name in found or name not in definitions:
            continue
        found[name] = definitions[name]
        waiting += _references(definitions[name])
    return {name: found[name] for name in sorted(found)}


def _references(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref" and isinstance(inner, str):
                yield inner.removeprefix(_REFERENCE)
            else:
                yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _encode(kinds: list[Served], schemas: Obj) -> bytes:
    names = _schema_names(schemas)
    paths: Obj = {}
    for served in kinds:
        paths |= _paths_of(served, names)
    document = {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": paths,
        "components": {"schemas": schemas},
    }
    return orjson.dumps(document)


def _schema_names(schemas: Obj) -> dict[tuple[str, str, str], str]:
    names = {}
    for name, schema in schemas.items():
        for kind in schema.get("x-kubernetes-group-version-kind") or ():
            names[kind.get("group", ""), kind.get("version", ""), kind.get("kind", "")] = name
    return names


def _paths_of(served: Served, names: dict[tuple[str, str, str], str]) -> Obj:
    resource = served.resource
    namespace = "{namespace}" if resource.namespaced else ""
    collection, single = resource.path(namespace), resource.path(namespace, "{name}")
    schema = names.get((resource.group, resource.version, resource.kind))
    paths: Obj = {}
    above = {"get": "list", "post": "create", "delete": "deletecollection"}
    below = {"get": "get", "put": "update", "patch": "patch", "delete": "delete"}
    for path, methods in ((collection, above), (single, below)):
        found = {
            method: _operation(served, method, verb, schema)
            for method, verb in methods.items()
            if verb in resource.verbs
        }
        if found:
            paths[path] = {**found, "parameters": _path_parameters(path)}
    if resource.namespaced and "list" in resource.verbs:
        paths[resource.path()] = {"get": _operation(served, "get", "list", schema)}
    for name, part in served.subresources.items():
        path = f"{single}/{name}"
        paths[path] = {"parameters": _path_parameters(path)}
        for method, verb in {**below, "post": "create"}.items():
            if verb in part.verbs:
                paths[path][method] = _operation(served, method, verb, schema if part.kind == resource.kind else None)
    return paths


def _operation(served: Served, method: str, verb: str, schema: str | None) -> Obj:
    resource = served.resource
    shown: Obj = {"schema": {"$ref": _REFERENCE + schema}} if schema else {}
    operation: Obj = {
        "description": f"{verb} {resource.kind}",
        "operationId": f"{verb}{resource.kind}",
        "responses": {"200": {"description": "OK", "content": {"application/json": shown}}},
        "x-kubernetes-action": {"create": "post", "update": "put"}.get(verb, verb),
        "x-kubernetes-group-version-kind": {
            "group": resource.group,
            "version": resource.version,
            "kind": resource.kind,
        },
    }
    if method in ("post", "put", "patch"):
        wanted = (*_WRITE_PARAMETERS, "force") if method == "patch" else _WRITE_PARAMETERS
        operation["parameters"] = [_parameter(name) for name in wanted]
        operation["requestBody"] = {"content": _bodies(served, method, shown)}
    return operation


def _bodies(served: Served, method: str, shown: Obj) -> Obj:
    if method != "patch":
        return {"*/*": shown}
    types = _PATCH_TYPES if served.custom else (*_PATCH_TYPES, _STRATEGIC)
    return {one: {"schema": {"$ref": f"{_REFERENCE}{_META}Patch"}} for one in types}


def _parameter(name: str) -> Obj:
    kind = "boolean" if name == "force" else "string"
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}


def _path_parameters(path: str) -> list[Obj]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}
        for name in ("name", "namespace")
        if f"{{{name}}}" in path
    ]


def _custom_schemas(kinds: list[Served]) -> Obj:
    return {**_definitions(kinds), **_closure([f"{_META}ObjectMeta"], openapi_definitions())}


def _definitions(kinds: list[Served]) -> Obj:
    """Return what custom kinds declare of themselves, completed with what every kind has."""
    schemas: Obj = {}
    common = _common_properties() if kinds else {}
    for served in kinds:
        resource = served.resource
        declared = dict(dig(dict(served.definition), "schema", "openAPIV3Schema", default={}))
        properties = {**(declared.get("properties") or {}), **common}
        kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        name = f"{'.'.join(reversed(resource.group.split('.')))}.{resource.version}.{resource.kind}"
        schemas[name] = {**declared, "properties": properties, "x-kubernetes-group-version-kind": [kind]}
    return schemas


def _common_properties() -> Obj:
    """Return apiVersion, kind and metadata with upstream's sentences, as any built-in kind has them."""
    known: Obj = openapi_definitions()["io.k8s.api.core.v1.ConfigMap"]["properties"]
    metadata = {name: value for name, value in known["metadata"].items() if name != "default"}
    return {"apiVersion": known["apiVersion"], "kind": known["kind"], "metadata": metadata}
