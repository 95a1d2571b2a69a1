"""Schemas that are not structural are refused in the server's words."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.apiserver.builtin.crd_schemas import schema_problems

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
