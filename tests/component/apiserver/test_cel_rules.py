"""CRDs with CEL rules: which definitions are refused, and what the rules say of objects."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.kube.manifest import Obj
from tests.component.apiserver.conftest import Api

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GADGETS = "/apis/cel.example/v1/namespaces/default/gadgets"
SPEC: Obj = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "min": {"type": "integer"},
        "name": {
            "type": "string",
            "maxLength": 20,
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "name is immutable"}],
        },
        "tags": {"type": "array", "items": {"type": "string"}},
        "when": {"type": "string", "format": "date-time"},
        "wait": {"type": "string", "format": "duration"},
        "kv": {
            "type": "object",
            "additionalProperties": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'bad'"}]},
        },
        "entries": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "required": ["k"],
                "properties": {
                    "k": {"type": "string"},
                    "v": {
                        "type": "integer",
                        "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "may not shrink"}],
                    },
                },
            },
        },
        "port": {"x-kubernetes-int-or-string": True},
    },
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.min) || self.replicas >= self.min",
            "messageExpression": "self.min > 5 ? 'far below' : 'a bit below'",
        },
        {
            "rule": "!has(self.tags) || self.tags.size() < 3",
            "reason": "FieldValueForbidden",
            "fieldPath": ".tags",
            "message": "too many tags",
        },
        {
            "rule": "!has(self.when) || self.when > timestamp('2020-01-01T00:00:00Z')",
            "reason": "FieldValueRequired",
            "message": "a later time",
        },
        {"rule": "!has(self.wait) || self.wait >= duration('1m')"},
        {"rule": "!has(self.port) || type(self.port) == int && self.port > 10"},
        {
            "rule": "!has(self.replicas) || oldSelf.hasValue() || self.replicas < 100",
            "optionalOldSelf": True,
            "message": "new ones start small",
        },
    ],
}


def definition(spec: Obj, *root_rules: Obj) -> Obj:
    schema: Obj = {"type": "object", "properties": {"spec": spec}}
    if root_rules:
        schema["x-kubernetes-validations"] = list(root_rules)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.cel.example"},
        "spec": {
            "group": "cel.example",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def gadget(called: str = "g", **spec: Any) -> Obj:
    return {"apiVersion": "cel.example/v1", "kind": "Gadget", "metadata": {"name": called}, "spec": spec}


@pytest.fixture
async def gadgets(api: Api) -> Api:
    named = {"rule": "self.metadata.name.startsWith('g')", "message": "name must start with g"}
    assert (await api.create(DEFINITIONS, definition(SPEC, named))).code == 201
    await api.until(GADGETS, 200)
    return api


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        (gadget(replicas=3, min=1, wait="90s", when="2021-01-01T00:00:00Z", port=11), None),
        (gadget("other"), "<nil>: Invalid value: name must start with g"),
        (gadget(replicas=3, min=9), "spec: Invalid value: far below"),
        (gadget(tags=["a", "b", "c"]), "spec.tags: Forbidden: too many tags"),
        (gadget(when="2019-01-01T00:00:00Z"), "spec: Required value: a later time"),
        (gadget(wait="59s"), "spec: Invalid value: failed rule: !has(self.wait) || self.wait >= duration('1m')"),
        (
            gadget(port="http"),
            "spec: Invalid value: failed rule: !has(self.port) || type(self.port) == int && self.port > 10",
        ),
        (gadget(replicas=200), "spec: Invalid value: new ones start small"),
        (gadget(kv={"a": "bad", "b": "ok"}), "spec.kv[a]: Invalid value: \"bad\": failed rule: self != 'bad'"),
        (
            gadget(min=3),
            (
                'spec: Invalid value: "object": no such key: replicas evaluating rule: '
                "!has(self.min) || self.replicas >= self.min"
            ),
        ),
        (
            gadget(replicas="x", kv={"a": "bad"}),
            (
                '[spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", '
                "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
                "correct the existing errors to complete validation]"
            ),
        ),
    ],
)
async def test_rules_are_asked_of_new_objects(gadgets: Api, obj: Obj, problem: str | None) -> None:
    answer = await gadgets.create(GADGETS, obj)
    if problem is None:
        assert answer.code == 201
    else:
        name = obj["metadata"]["name"]
        assert (answer.code, answer.body["message"]) == (422, f'Gadget.cel.example "{name}" is invalid: {problem}')


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"replicas": 300}, None),
        ({"name": "b"}, 'spec.name: Invalid value: "b": name is immutable'),
        (
            {"entries": [{"k": "new", "v": 1}, {"k": "x", "v": 2}]},
            "spec.entries[1].v: Invalid value: 2: may not shrink",
        ),
        ({"entries": [{"k": "x", "v": 4}]}, None),
        ({"entries": None}, None),
    ],
)
async def test_transition_rules_compare_with_what_was_there(gadgets: Api, change: Obj, problem: str | None) -> None:
    await gadgets.create(GADGETS, gadget(replicas=3, name="a", entries=[{"k": "x", "v": 3}]))
    answer = await gadgets.patch(f"{GADGETS}/g", {"spec": change})
    if problem is None:
        assert answer.code == 200
    else:
        assert (answer.code, answer.body["message"]) == (422, f'Gadget.cel.example "g" is invalid: {problem}')


async def test_what_was_wrong_before_a_rule_came_only_warns_until_it_is_touched(api: Api) -> None:
    plain: Obj = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    await api.create(DEFINITIONS, definition(plain))
    await api.until(GADGETS, 200)
    await api.create(GADGETS, gadget(a=1, b=1))
    ruled = {**plain, "properties": {**plain["properties"], "a": {"type": "integer", "x-kubernetes-validations": RULE}}}
    version = definition(ruled)["spec"]["versions"]
    assert (await api.patch(f"{DEFINITIONS}/gadgets.cel.example", {"spec": {"versions": version}})).code == 200
    touched = await api.patch(f"{GADGETS}/g", {"spec": {"b": 2}})
    assert (touched.code, "spec.a: Invalid value: 1: must be big" in touched.warnings) == (200, True)
    assert (await api.patch(f"{GADGETS}/g", {"spec": {"a": 2}})).code == 422


RULE = [{"rule": "self > 10", "message": "must be big"}]


def shown(rule: str) -> str:
    """Write a rule as the refusal of it does."""
    rest = '"Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null'
    return f'Invalid value: {{"Rule":"{rule}",{rest}}}: '


@pytest.mark.parametrize(
    ("rule", "field", "problem"),
    [
        (
            {"rule": "self.nope > 1"},
            "rule",
            shown("self.nope \\u003e 1")
            + "compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope > 1\n | ....^",
        ),
        (
            {"rule": "self.size"},
            "rule",
            shown("self.size") + "cel expression must evaluate to a bool",
        ),
        ({"rule": " "}, "rule", "Required value: rule is not specified"),
        ({"rule": "true", "message": "a\nb"}, "message", 'Invalid value: "a\\nb": must not contain line breaks'),
        (
            {"rule": "true &&\n true"},
            "message",
            "Required value: message must be specified if rule contains line breaks",
        ),
        (
            {"rule": "true", "reason": "Odd"},
            "reason",
            (
                'Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", '
                '"FieldValueInvalid", "FieldValueRequired"'
            ),
        ),
        ({"rule": "true", "fieldPath": ".nope"}, "fieldPath", 'Invalid value: ".nope": must be a valid path'),
        (
            {"rule": "true", "optionalOldSelf": True},
            "optionalOldSelf",
            "Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
    ],
)
async def test_a_rule_that_cannot_be_understood_refuses_the_definition(
    api: Api, rule: Obj, field: str, problem: str
) -> None:
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}, "x-kubernetes-validations": [rule]}
    answer = await api.create(DEFINITIONS, definition(spec))
    at = f"spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].{field}"
    named = 'CustomResourceDefinition.apiextensions.k8s.io "gadgets.cel.example" is invalid'
    assert (answer.code, answer.body["message"]) == (422, f"{named}: {at}: {problem}")


async def test_elements_that_cannot_be_told_apart_have_no_transition_rules(api: Api) -> None:
    items = {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}
    spec = {"type": "object", "properties": {"names": {"type": "array", "items": items}}}
    answer = await api.create(DEFINITIONS, definition(spec))
    within = "spec.validation.openAPIV3Schema.properties[spec].properties[names]"
    told = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
    assert answer.code == 422
    assert told in answer.body["message"]
