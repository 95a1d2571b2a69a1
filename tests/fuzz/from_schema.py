"""Manifests made up from a schema: mostly what it asks for, now and then what it does not."""

from __future__ import annotations

import random
from typing import Any

from hanse.kube.schemas import Schema
from tests.fuzz.odd import NUMBERS, TEXTS, odd_value

_DEEPEST = 14
_WORDS = ("a", "web", "shop", "default", "app", "nginx:1.27", "us-east", "http", "x.example.com", "80", "50%", "1Gi")
_FORMATS = {
    "date-time": "2026-01-01T00:00:00Z",
    "byte": "YQ==",
    "duration": "5m",
    "ipv4": "10.0.0.1",
    "ip": "10.0.0.1",
    "uri": "https://example.com/x",
}


def made_from(chance: random.Random, schema: Schema, oddness: float = 0.02, depth: int = 0) -> Any:
    """Return a value; `oddness` is how often a place holds what its schema does not ask for."""
    if chance.random() < oddness:
        return odd_value(chance)
    if schema.enum:
        return chance.choice(schema.enum)
    if schema.int_or_string:
        return chance.choice((1, 0, "50%", "http", 8080))
    if schema.type == "object" or schema.properties or schema.additional:
        return _object(chance, schema, oddness, depth)
    if schema.type == "array":
        return _array(chance, schema, oddness, depth)
    if schema.type == "string":
        return _text(chance, schema)
    if schema.type in ("integer", "number"):
        return _number(chance, schema)
    if schema.type == "boolean":
        return chance.random() < 0.5
    return chance.choice((*_WORDS, 1, True, {}, []))


def _object(chance: random.Random, schema: Schema, oddness: float, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    # Deeper down there is less of everything: schemas that hold themselves would never end.
    share = 0.0 if depth > _DEEPEST else 0.5 / (1 + depth * 0.35)
    for name in schema.properties:
        if (name in schema.required and depth <= _DEEPEST + 3) or chance.random() < share:
            made[name] = made_from(chance, schema.properties[name], oddness, depth + 1)
    if schema.additional is not None and depth <= _DEEPEST:
        for _ in range(chance.choice((0, 1, 2))):
            made[chance.choice(_WORDS)] = made_from(chance, schema.additional, oddness, depth + 1)
    if schema.preserve_unknown and not schema.properties and chance.random() < 0.5:
        made[chance.choice(_WORDS)] = odd_value(chance)
    return made


def _array(chance: random.Random, schema: Schema, oddness: float, depth: int) -> list[Any]:
    if schema.items is None or depth > _DEEPEST:
        return []
    count = max(chance.choice((0, 1, 1, 2)), schema.min_items or 0)
    return [made_from(chance, schema.items, oddness, depth + 1) for _ in range(min(count, 20))]


def _text(chance: random.Random, schema: Schema) -> str:
    if schema.format in _FORMATS:
        return _FORMATS[schema.format]
    text = chance.choice(_WORDS if chance.random() < 0.8 else TEXTS)
    return text[: schema.max_length] if schema.max_length is not None else text


def _number(chance: random.Random, schema: Schema) -> Any:
    if chance.random() < 0.2:
        number = chance.choice(NUMBERS)
        return int(number) if schema.type == "integer" and number == number and abs(number) < 2**70 else 1
    low = int(schema.minimum if schema.minimum is not None else 0)
    return chance.randint(low, int(schema.maximum) if schema.maximum is not None else low + 10)
