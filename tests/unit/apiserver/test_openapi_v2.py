"""Custom kinds in the words of OpenAPI version 2: never stricter than declared, nothing that it has no words for."""

from __future__ import annotations

from typing import Any

import pytest

from hanse.apiserver.openapi_v2 import custom_definition

REFERENCE = {"allOf": [{"$ref": "#/components/schemas/meta.ObjectMeta"}], "description": "Its metadata."}
PLAIN: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string", "enum": ["a"]}}}


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (PLAIN, PLAIN),
        ({"type": "string", "nullable": True}, {}),
        ({"type": "integer", "anyOf": [{"minimum": 3}], "minimum": 1}, {"type": "integer", "minimum": 1}),
        ({"type": "array", "items": PLAIN}, {"type": "array", "items": PLAIN}),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": PLAIN}},
            {"x-kubernetes-preserve-unknown-fields": True},
        ),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "nullable": True}}},
            {"type": "object", "properties": {"a": {}}},
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string", "not": {"enum": ["x"]}}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
    ],
)
def test_a_field_says_what_version_2_can_say(declared: dict[str, Any], told: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"field": declared}}
    assert custom_definition(schema)["properties"]["field"] == told


def test_a_kind_that_takes_anything_says_nothing_of_its_fields() -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"metadata": REFERENCE}}
    assert custom_definition(schema) == {"type": "object"}


def test_metadata_is_a_reference_with_its_sentence() -> None:
    told = custom_definition({"type": "object", "properties": {"metadata": REFERENCE}})
    assert told["properties"]["metadata"] == {"$ref": "#/definitions/meta.ObjectMeta", "description": "Its metadata."}
