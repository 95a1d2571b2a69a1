"""From a CustomResourceDefinition to the kinds that it has the server serve."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hanse.api.names import YIELDS_ANNOTATION
from hanse.apiserver.builtin.strategy import Getter, Strategy
from hanse.apiserver.cel.schema_rules import RuleTree, rule_tree
from hanse.apiserver.jsonpath import JsonPath
from hanse.apiserver.kinds import ALL_VERBS, Subresource, bucket_of, subresource
from hanse.apiserver.registry import Served, version_priority
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.kube.resources import Resource
from hanse.kube.schemas import Schema, schema_from_crd


def kinds_of(crd: Obj) -> list[Served]:
    """Return the served versions of a definition, as the registry wants them."""
    spec, yields = crd["spec"], annotations_of(crd).get(YIELDS_ANNOTATION) == "true"
    return [_served(spec, version, yields=yields) for version in spec["versions"] if version.get("served")]


def _served(spec: Obj, version: Obj, *, yields: bool) -> Served:
    names = spec["names"]
    parts = _parts(names["kind"], version)
    resource = Resource(
        spec["group"],
        version["name"],
        names["plural"],
        names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        verbs=frozenset(ALL_VERBS),
        subresources=frozenset(parts),
        short_names=tuple(names.get("shortNames") or ()),
        singular=names.get("singular") or names["kind"].lower(),
        categories=tuple(names.get("categories") or ()),
    )
    schema = _schema(dig(version, "schema", "openAPIV3Schema", default={}))
    return Served(
        resource,
        bucket_of(spec["group"], names["plural"]),
        parts,
        Strategy(counts_generation=True, selectable=_selectable(version), needs_version=True),
        schema,
        custom=True,
        yields=yields,
        definition={**version, "deprecationWarning": _deprecation(spec, version)},
        rules=_rules(schema),
    )


def _deprecation(spec: Obj, version: Obj) -> str:
    """Return what users of a version are warned of; "" if of nothing."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    kind, current = spec["names"]["kind"], version_priority(version["name"])
    told = f"{spec['group']}/{version['name']} {kind} is deprecated"
    newer = [
        one["name"]
        for one in spec["versions"]
        if one.get("served") and not one.get("deprecated") and version_priority(one["name"]) > current
    ]
    return f"{told}; use {spec['group']}/{max(newer, key=version_priority)} {kind}" if newer else told


def _parts(kind: str, version: Obj) -> dict[str, Subresource]:
    declared: dict[str, Any] = version.get("subresources") or {}
    return {name: subresource(name, kind) for name in ("status", "scale") if name in declared}


def _schema(openapi: Obj) -> Callable[[], Schema | None]:
    # Built when the first object of the kind is written, once.
    return cache(lambda: schema_from_crd(openapi))


def _rules(schema: Callable[[], Schema | None]) -> Callable[[], RuleTree | None]:
    def compiled() -> RuleTree | None:
        built = schema()
        return rule_tree(built) if built is not None else None

    return cache(compiled)


def _selectable(version: Obj) -> dict[str, Getter]:
    fields = [str(one["jsonPath"]) for one in version.get("selectableFields") or ()]
    return {path.lstrip("."): _getter(JsonPath.parse(path)) for path in fields}


def _getter(path: JsonPath) -> Getter:
    def get(obj: Obj) -> str:
        found = path.find(obj)
        if not found or found[0] is None:
            return ""
        return str(found[0]).lower() if isinstance(found[0], bool) else str(found[0])

    return get
