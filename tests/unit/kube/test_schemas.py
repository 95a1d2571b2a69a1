"""Schemas of built-in kinds and of CRDs: what they know, prune, default and refuse."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from hanse.kube.schemas import openapi_definitions, schema_for, schema_from_crd
from hanse.kube.schemas.schema import Schema, read_keywords
from hanse.kube.schemas.structural import decode_errors, drop_nulls, fill_defaults, prune, validate

# Made by Kubernetes' own code (apiextensions-apiserver) from random schemas and objects.
CUSTOM_RESOURCES = json.loads((Path(__file__).parent / "vectors/custom_resources.json").read_text())


def known(*kind: str) -> Any:
    found = schema_for(*kind)
    assert found is not None
    return found


def deployment() -> Any:
    return known("apps", "v1", "Deployment")


def bare(raw):
    """A schema as declared, without what the server adds to every resource."""
    return Schema(**read_keywords(raw, bare))


def crd(**spec):
    return schema_from_crd({"type": "object", "properties": {"spec": {"type": "object", **spec}}})


def containers_of(schema):
    return schema.properties["spec"].properties["template"].properties["spec"].properties["containers"]


def test_built_in_kinds_carry_the_markers_of_merging():
    containers = containers_of(deployment())
    ports = containers.items.properties["ports"]
    assert (
        containers.list_type,
        containers.list_map_keys,
        containers.patch_strategy,
        containers.patch_merge_key,
    ) == ("map", ("name",), "merge", "name")
    assert (ports.list_map_keys, ports.items.properties["protocol"].default) == (("containerPort", "protocol"), "TCP")
    assert deployment().properties["spec"].properties["selector"].map_type == "atomic"


def test_a_kind_that_kubernetes_does_not_have_has_no_schema():
    assert schema_for("example.com", "v1", "Widget") is None


@pytest.mark.parametrize(
    "kind",
    [
        ("", "v1", "Pod"),
        ("", "v1", "Namespace"),
        ("batch", "v1", "CronJob"),
        ("autoscaling", "v2", "HorizontalPodAutoscaler"),
        ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
        ("coordination.k8s.io", "v1", "Lease"),
    ],
)
def test_every_definition_that_a_kind_refers_to_can_be_built(kind):
    def walk(schema, depth):
        children = [*schema.properties.values(), schema.items, schema.additional]
        return 1 + sum(walk(child, depth - 1) for child in children if child is not None and depth)

    assert walk(known(*kind), 5) > 10


def test_definitions_that_contain_themselves_are_finite():
    version = known("apiextensions.k8s.io", "v1", "CustomResourceDefinition").properties["spec"]
    root = version.properties["versions"].items.properties["schema"].properties["openAPIV3Schema"]
    assert root.name == root.properties["properties"].additional.properties["allOf"].items.name


def test_definitions_are_served_with_their_descriptions():
    definitions = openapi_definitions()
    spec = definitions["io.k8s.api.apps.v1.DeploymentSpec"]
    kinds = definitions["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"]
    assert "Number of desired pods" in spec["properties"]["replicas"]["description"]
    assert kinds == [{"group": "apps", "kind": "Deployment", "version": "v1"}]


def test_pruning_removes_what_is_unknown_and_says_where_it_was():
    obj = {
        "apiVersion": "apps/v1",
        "metadata": {"name": "web", "labels": {"any": "thing"}, "nick": "w"},
        "spec": {"foo": 1, "template": {"spec": {"containers": [{"name": "a"}, {"name": "b", "bar": 2}]}}},
        "extra": {},
    }
    removed = prune(deployment(), obj)
    assert removed == ["extra", "metadata.nick", "spec.foo", "spec.template.spec.containers[1].bar"]
    assert obj == {
        "apiVersion": "apps/v1",
        "metadata": {"name": "web", "labels": {"any": "thing"}},
        "spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}},
    }


@pytest.mark.parametrize("case", CUSTOM_RESOURCES, ids=range(len(CUSTOM_RESOURCES)))
def test_custom_resources_are_judged_as_by_apiextensions(case):
    schema, obj = bare(case["schema"]), copy.deepcopy(case["object"])
    errors = sorted([error.path, error.reason, error.message] for error in validate(schema, obj))
    assert sorted(case["errors"]) == errors
    assert (case["unknown"], case["pruned"]) == (prune(schema, obj), obj)
    drop_nulls(schema, obj)
    fill_defaults(schema, obj)
    assert case["defaulted"] == obj


@pytest.mark.parametrize(
    ("rule", "value", "text"),
    [
        (
            {"type": "integer"},
            "x",
            'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
        ),
        ({"type": "string", "enum": ["a", "b"]}, "x", 'spec.a: Unsupported value: "x": supported values: "a", "b"'),
        (
            {"type": "integer", "minimum": 0},
            -1,
            "spec.a: Invalid value: -1: spec.a in body should be greater than or equal to 0",
        ),
        (
            {"type": "integer", "maximum": 10, "exclusiveMaximum": True},
            10,
            "spec.a: Invalid value: 10: spec.a in body should be less than 10",
        ),
        (
            {"type": "string", "pattern": "^a+$"},
            "b",
            "spec.a: Invalid value: \"b\": spec.a in body should match '^a+$'",
        ),
        ({"type": "string", "maxLength": 2}, "abc", "spec.a: Too long: may not be more than 2 bytes"),
        (
            {"type": "array", "items": {"type": "string"}, "maxItems": 1},
            ["a", "b"],
            "spec.a: Too many: 2: must have at most 1 item",
        ),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            ["a", "a"],
            'spec.a[1]: Duplicate value: "a"',
        ),
        (
            {"type": "string", "format": "date-time"},
            "noon",
            'spec.a: Invalid value: "noon": spec.a in body must be of type date-time: "noon"',
        ),
        (
            {"type": "integer", "format": "int32"},
            2**40,
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.a',
        ),
        (
            {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]},
            {},
            "spec.a.n: Required value",
        ),
        (
            {"type": "object", "not": {"required": ["x"]}},
            {"x": 1},
            '<nil>: Invalid value: "": "spec.a" must not validate the schema (not)',
        ),
    ],
)
def test_each_rule_is_broken_in_kubernetes_own_words(rule, value, text):
    assert [text] == [str(error) for error in validate(crd(properties={"a": rule}), {"spec": {"a": value}})]


def test_alternatives_say_how_many_fitted():
    schema = crd(
        properties={"x": {"type": "string"}, "y": {"type": "string"}},
        oneOf=[{"required": ["x"]}, {"required": ["y"]}],
    )
    found = [str(error) for error in validate(schema, {"spec": {"x": "1", "y": "2"}})]
    rest = '"spec" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    assert [f'<nil>: Invalid value: "": {rest}'] == found


def test_a_custom_resource_keeps_its_own_names_and_loses_unknown_metadata():
    obj = {"apiVersion": "v1", "kind": "W", "metadata": {"name": "w", "bogus": 1}, "spec": {"x": 1}}
    assert prune(crd(properties={}), obj) == ["metadata.bogus", "spec.x"]
    assert obj == {"apiVersion": "v1", "kind": "W", "metadata": {"name": "w"}, "spec": {}}


def test_an_embedded_resource_is_one_inside_and_out():
    template = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    obj = {"spec": {"t": {"kind": "Pod", "metadata": {"name": "p", "junk": 1}, "spec": {"any": "thing"}}}}
    assert prune(crd(properties={"t": template}), obj) == ["spec.t.metadata.junk"]
    assert obj["spec"]["t"]["spec"] == {"any": "thing"}


def test_a_crd_may_restrict_names():
    schema = schema_from_crd(
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}}},
        }
    )
    assert [str(error) for error in validate(schema, {"metadata": {"name": "long-name", "labels": {"a": "b"}}})] == [
        "metadata.name: Too long: may not be more than 3 bytes"
    ]


def test_defaults_are_copied_not_shared():
    schema = crd(properties={"list": {"type": "array", "items": {"type": "string"}, "default": ["a"]}})
    one: dict[str, Any] = {"spec": {}}
    other: dict[str, Any] = {"spec": {}}
    fill_defaults(schema, one)
    fill_defaults(schema, other)
    one["spec"]["list"].append("b")
    assert other == {"spec": {"list": ["a"]}}


def in_container(**fields):
    return {"spec": {"template": {"spec": {"containers": [{"name": "a", **fields}]}}}}


@pytest.mark.parametrize(
    ("obj", "refusal"),
    [
        (
            {"spec": {"replicas": "x"}},
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            {"spec": {"replicas": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        ({"spec": "x"}, "json: cannot unmarshal string into Go struct field Deployment.spec of type v1.DeploymentSpec"),
        (
            {"metadata": {"labels": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            in_container(env=[{"name": "A", "value": 1}]),
            (
                "json: cannot unmarshal number into Go struct field "
                "EnvVar.spec.template.spec.containers.env.value of type string"
            ),
        ),
        (
            {"spec": {"template": {"spec": {"containers": {"a": 1}}}}},
            (
                "json: cannot unmarshal object into Go struct field "
                "PodSpec.spec.template.spec.containers of type []v1.Container"
            ),
        ),
        (
            in_container(resources={"limits": {"cpu": "much"}}),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            {"metadata": {"creationTimestamp": "2020-01-01"}},
            'parsing time "2020-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"',
        ),
        (in_container(resources={"limits": {"cpu": 1}}, image=None), ""),
    ],
)
def test_a_wrong_type_is_refused_as_by_gos_decoder(obj, refusal):
    assert refusal == decode_errors(deployment(), obj).refusal


def test_unknown_fields_of_a_built_in_kind_are_told_in_order_and_left_alone():
    obj = {"spec": {"foo": 1, **in_container(bar=2)["spec"]}}
    before = copy.deepcopy(obj)
    found = decode_errors(deployment(), obj)
    wanted = 'strict decoding error: unknown field "spec.foo", unknown field "spec.template.spec.containers[0].bar"'
    assert (wanted, before) == (found.strict, obj)


def test_a_well_formed_object_has_nothing_to_be_told():
    found = decode_errors(deployment(), in_container(image="nginx", ports=[{"containerPort": 80}]))
    assert (found.refusal, found.unknown, found.strict) == ("", (), "")
