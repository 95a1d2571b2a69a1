"""What a template may hold: the schema of its target kind, as a CustomResourceDefinition can carry it.

A template is as strict as its target about types, choices and required fields, so that a wrong one is refused when it
is written. It differs where a template is not an object: nothing is required at its top, no default is filled in,
since that would change what people wrote, and rules that count on defaults are left to the members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.schemas import Schema

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_TEXT: Obj = {"type": "string"}
_TEXTS: Obj = {"type": "object", "additionalProperties": _TEXT}

ANYTHING: Obj = {_PRESERVE: True}
"""The schema of any value at all."""

# Servers and tools leave much in metadata that means nothing in a template; it is neither refused nor lost.
METADATA: Obj = {
    "type": "object",
    _PRESERVE: True,
    "properties": {"name": _TEXT, "namespace": _TEXT, "labels": _TEXTS, "annotations": _TEXTS},
}

# No type fits a quantity, which is text or any number; text at least must be one.
_AMOUNT: Obj = {
    _PRESERVE: True,
    "pattern": r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$",
}

_SAID = {
    "type": "type",
    "format": "format",
    "pattern": "pattern",
    "nullable": "nullable",
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusive_minimum": "exclusiveMinimum",
    "exclusive_maximum": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_items": "minItems",
    "max_items": "maxItems",
    "unique_items": "uniqueItems",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "int_or_string": "x-kubernetes-int-or-string",
    "preserve_unknown": _PRESERVE,
    "embedded_resource": "x-kubernetes-embedded-resource",
}
# One of these says what a value is; a schema without any would not be taken.
_TYPING = frozenset({"type", "x-kubernetes-int-or-string", _PRESERVE})
_BRANCHES = {"one_of": "oneOf", "any_of": "anyOf", "all_of": "allOf"}


def template_schema(target: Schema | None) -> Obj:
    """Return what `spec.template` may hold, from the schema of the target kind; anything where that is not known."""
    if target is None:
        return {"type": "object", **ANYTHING}
    fields: Obj = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": METADATA}
    # People paste what a server showed them; members take no status from anybody.
    fields["status"] = {"type": "object", **ANYTHING}
    below = {name: _converted(child, (target.name,)) for name, child in target.properties.items() if name not in fields}
    top: Obj = {"type": "object", "properties": fields | below}
    return {**top, **ANYTHING} if target.preserve_unknown else top


def has_replicas(target: Schema | None) -> bool:
    """Tell whether a kind has the `spec.replicas` that members may be left to set."""
    spec = target.child("spec") if target is not None else None
    replicas = spec.child("replicas") if spec is not None else None
    return replicas is not None and (replicas.type, replicas.format) == ("integer", "int32")


def _converted(schema: Schema, above: tuple[str, ...]) -> Obj:
    if schema.name == _OBJECT_META:
        return METADATA
    if schema.name == _QUANTITY:
        return _AMOUNT
    if schema.name and schema.name in above:
        # A schema that holds itself, as that of schemas does, cannot be written out.
        return {"type": schema.type or "object", **ANYTHING}
    deeper = (*above, schema.name) if schema.name else above
    found = dict(_keywords(schema, lambda child: _converted(child, deeper)))
    return found if found.keys() & _TYPING else {**found, **ANYTHING}


def _branch(schema: Schema) -> Obj:
    """Return a condition on a value whose type is told beside it."""
    return dict(_keywords(schema, _branch))


def _keywords(schema: Schema, convert: Callable[[Schema], Obj]) -> Iterator[tuple[str, Any]]:
    for name, keyword in _SAID.items():
        value = getattr(schema, name)
        if value is not None and value is not False and value != "":
            yield keyword, value
    if schema.enum:
        yield "enum", list(schema.enum)
    if schema.properties:
        yield "properties", {name: convert(child) for name, child in schema.properties.items()}
    if required := _required(schema):
        yield "required", required
    if schema.items is not None:
        yield "items", convert(schema.items)
    if schema.additional is not None:
        yield "additionalProperties", convert(schema.additional)
    for name, keyword in _BRANCHES.items():
        if branches := getattr(schema, name):
            yield keyword, [_branch(branch) for branch in branches]
    if schema.negated is not None:
        yield "not", _branch(schema.negated)
    yield from _list_keys(schema)


def _required(schema: Schema) -> list[str]:
    """Return what must be there; a default, which templates do not get, made up for it in a custom object."""
    return [
        name
        for name in schema.required
        if schema.name or (child := schema.child(name)) is None or child.default is None
    ]


def _list_keys(schema: Schema) -> Iterator[tuple[str, Any]]:
    # Kubernetes' own kinds declare keys that their servers do not hold users to.
    if schema.items is None or schema.items.name or schema.list_type not in ("set", "map"):
        return
    if all(key in _required(schema.items) for key in schema.list_map_keys):
        yield "x-kubernetes-list-type", schema.list_type
        if schema.list_map_keys:
            yield "x-kubernetes-list-map-keys", list(schema.list_map_keys)
