"""The schema of a kind as the host that serves it tells it: from its definition, or from the host's OpenAPI."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import Resource
from hanse.kube.schemas import Schema, schema_from_crd
from hanse.kube.schemas.schema import read_keywords

_REFERENCE = "#/components/schemas/"
_GVK = "x-kubernetes-group-version-kind"


def schema_from_definition(crd: Obj, version: str) -> Schema | None:
    """Return the schema of a version of a custom kind; None where the definition has no such version."""
    for entry in dig(crd, "spec", "versions", default=[]):
        if entry.get("name") == version:
            return schema_from_crd(dig(entry, "schema", "openAPIV3Schema", default={}))
    return None


def openapi_path(resource: Resource) -> str:
    """Return where a host serves the OpenAPI v3 document of a kind's group and version."""
    return (
        f"/openapi/v3/apis/{resource.group}/{resource.version}"
        if resource.group
        else f"/openapi/v3/api/{resource.version}"
    )


def schema_from_openapi(document: Obj, resource: Resource) -> Schema | None:
    """Return the schema of a kind from an OpenAPI v3 document; None where it does not tell of the kind."""
    schemas: dict[str, Obj] = dig(document, "components", "schemas", default={})
    wanted = {"group": resource.group, "version": resource.version, "kind": resource.kind}

    @cache
    def named(name: str) -> Schema:
        return replace(build(schemas.get(name) or {}), name=name)

    def build(raw: Obj) -> Schema:
        branches: list[Obj] = raw.get("allOf") or []
        # A reference with a default or a description beside it stands alone in an allOf.
        reference = raw.get("$ref") or (branches[0].get("$ref") if len(branches) == 1 else None)
        if reference:
            return named(str(reference).removeprefix(_REFERENCE))
        keywords = read_keywords(raw, build)
        if keywords.get("format") == "int-or-string":
            keywords |= {"int_or_string": True, "one_of": ()}
        return Schema(**keywords)

    for name, raw in schemas.items():
        if wanted in (raw.get(_GVK) or ()):
            return named(name)
    return None
