"""The definition of a federated kind, made for any target kind from its schema."""

from __future__ import annotations

from collections.abc import Iterator

from hanse.api.cluster_kind import record
from hanse.api.definitions import column
from hanse.api.kubefed.federated_schemas import STATUS, overrides_schema, placement_schema
from hanse.api.kubefed.forms import (
    TYPED_OVERRIDES,
    Form,
    OverrideStyle,
    override_resource,
    placement_resource,
    template_resource,
)
from hanse.api.kubefed.serving import AGE, kubefed_definition
from hanse.api.kubefed.template_schemas import has_replicas, template_schema
from hanse.kube.manifest import Obj
from hanse.kube.resources import Resource
from hanse.kube.schemas import Schema

_COLUMNS = [
    column("Propagated", "string", '.status.conditions[?(@.type=="Propagation")].status'),
    column("Reason", "string", '.status.conditions[?(@.type=="Propagation")].reason'),
    AGE,
]


def federated_definitions(form: Form, target: Resource, schema: Schema | None) -> list[Obj]:
    """Return what has a host serve a target kind's federated form: one definition, or one for each of three objects.

    `schema` is that of the target; without it a template may hold anything.
    """
    return list(_definitions(form, target, template_schema(schema), retains=has_replicas(schema)))


def definitions_in_forms(forms: tuple[Form, ...], target: Resource, schema: Schema | None) -> list[Obj]:
    """Return the definitions of a target kind in several forms; its schema is worked through once."""
    template, retains = template_schema(schema), has_replicas(schema)
    return [one for form in forms for one in _definitions(form, target, template, retains=retains)]


def _definitions(form: Form, target: Resource, template: Obj, *, retains: bool) -> Iterator[Obj]:
    resource = template_resource(form, target)
    if resource != target:
        spec = {"template": template}
        if not form.three_objects:
            spec |= {"placement": placement_schema(form), "overrides": overrides_schema(form)}
            if retains:
                spec["retainReplicas"] = {"type": "boolean"}
        yield kubefed_definition(resource, {"spec": record(spec)}, _COLUMNS, status=STATUS)
    if placement := placement_resource(form, target):
        yield kubefed_definition(placement, {"spec": placement_schema(form)})
    if override := override_resource(form, target):
        overrides = overrides_schema(form, _typed_field(form, target, template))
        yield kubefed_definition(override, {"spec": record({"overrides": overrides})})


def _typed_field(form: Form, target: Resource, template: Obj) -> tuple[str, Obj] | None:
    """Return the one field that form A's overrides of a kind may set, with the schema that the target has for it."""
    if form.overrides is not OverrideStyle.FIELD:
        return None
    path = TYPED_OVERRIDES[target.kind]
    schema = template
    for step in path:
        schema = schema["properties"][step]
    if "additionalProperties" in schema:
        # A key without a value was written as null, and is not the same as no key.
        schema = schema | {"additionalProperties": schema["additionalProperties"] | {"nullable": True}}
    return path[-1], schema
