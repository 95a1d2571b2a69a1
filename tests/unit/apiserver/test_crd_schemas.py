"""Schemas that are not structural are refused in the server's words."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.apiserver.builtin.crd_schemas import schema_problems
from hanse.apiserver.cel.definition_checks import rule_problems

KEYED: dict[str, Any] = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
MARKED = "this property is in x-kubernetes-list-map-keys, so it"
PROBLEMS: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"type": "object"}, []),
    ({}, [("type", "Required value: must not be empty at the root")]),
    ({"type": "string"}, [("type", 'Invalid value: "string": must be object at the root')]),
    (
        {"type": "object", "properties": {"a": {}}},
        [("properties[a].type", "Required value: must not be empty for specified object fields")],
    ),
    (
        {"type": "object", "properties": {"a": {"type": "array", "items": {}}}},
        [("properties[a].items.type", "Required value: must not be empty for specified array items")],
    ),
    (
        {
            "type": "object",
            "properties": {"a": {**KEYED, "items": {"type": "object", "properties": {"k": {"type": "string"}}}}},
        },
        [
            (
                "properties[a].items.properties[k].default",
                f"Required value: {MARKED} must have a default or be a required property",
            )
        ],
    ),
    (
        {"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": True}, "kind": {}, "metadata": {}}},
        [],
    ),
]


@pytest.mark.parametrize(("schema", "expected"), PROBLEMS)
def test_structural_rules(schema: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    found = list(schema_problems(schema, "openAPIV3Schema"))
    assert [(one.field.removeprefix("openAPIV3Schema."), one.message) for one in found] == expected


LEADER: dict[str, Any] = {
    "type": "object",
    "x-kubernetes-validations": [
        {"rule": "duration(self.lease) > duration(self.renew)", "message": "lease must be longer than renew"}
    ],
    "properties": {"lease": {"type": "string", "default": "15s"}, "renew": {"type": "string", "default": "10s"}},
}


@pytest.mark.parametrize(
    ("default", "problems"),
    [
        ({"lease": "15s", "renew": "10s"}, []),
        ({}, ['Invalid value: "object": no such key: lease evaluating rule: lease must be longer than renew']),
        ({"lease": "5s", "renew": "10s"}, ["Invalid value: lease must be longer than renew"]),
    ],
    ids=["whole", "empty", "wrong"],
)
def test_a_default_is_held_to_the_rules_before_the_defaults_within_it_are_filled_in(
    default: dict[str, str], problems: list[str]
) -> None:
    """As a real API server does it; the second sentence is its own."""
    schema = {"type": "object", "properties": {"leader": {**LEADER, "default": default}}}

    found = rule_problems(schema, "openAPIV3Schema")

    assert [problem.message for problem in found] == problems
    assert {problem.field for problem in found} <= {"openAPIV3Schema.properties[leader].default"}
