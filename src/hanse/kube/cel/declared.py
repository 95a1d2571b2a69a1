"""The types that expressions are checked against, as a CRD's schema declares them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hanse.kube.schemas import Schema

# A type as environments are described: {"type_name": "list", "params": [{"type_name": "int"}]}.
TypeName = dict[str, Any]

DYNAMIC: TypeName = {"type_name": "dyn"}
_SCALARS = {"integer": "int", "number": "double", "boolean": "bool", "string": "string"}
_FORMATS = {"date": "timestamp", "date-time": "timestamp", "duration": "duration", "byte": "bytes"}
_RESERVED = frozenset(
    {
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|[-./]")
_NAMEABLE = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*")


def escaped(name: str) -> str | None:
    """Return the identifier under which expressions reach a field; None for a field that they cannot reach."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _NAMEABLE.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda found: _ESCAPES[found.group()], name)


@dataclass(slots=True)
class Declarations:
    """The variables of an expression with their types, and the object types among those."""

    variables: Mapping[str, TypeName]
    messages: dict[str, dict[str, TypeName]] = field(default_factory=dict)


def self_type(schema: Schema, *, root: bool) -> tuple[TypeName | None, dict[str, dict[str, TypeName]]]:
    """Return the type of what a schema describes and the object types that it needs; None where it has no type."""
    messages: dict[str, dict[str, TypeName]] = {}
    return _declare(schema, "selfType", messages, root=root), messages


def optional_of(kind: TypeName) -> TypeName:
    """Return the type of a value that may not be there."""
    return {"type_name": "optional_type", "params": [kind]}


def _declare(
    schema: Schema, name: str, messages: dict[str, dict[str, TypeName]], *, root: bool = False
) -> TypeName | None:
    if schema.int_or_string:
        return DYNAMIC
    if schema.type == "array":
        items = _declare(schema.items, f"{name}_items", messages) if schema.items else None
        return {"type_name": "list", "params": [items]} if items else None
    if schema.type == "object":
        return _object(schema, name, messages, root=root)
    scalar = _SCALARS.get(schema.type)
    if scalar is None:
        return None
    if scalar == "string":
        scalar = _FORMATS.get(schema.format, scalar)
    kind: TypeName = {"type_name": scalar}
    if schema.nullable and scalar not in ("timestamp", "duration"):
        return {"type_name": "wrapper", "params": [kind]}
    return kind


def _object(schema: Schema, name: str, messages: dict[str, dict[str, TypeName]], *, root: bool) -> TypeName | None:
    if schema.additional is not None:
        values = _declare(schema.additional, f"{name}_values", messages)
        return {"type_name": "map", "params": [{"type_name": "string"}, values]} if values else None
    fields: dict[str, TypeName] = {}
    messages[name] = fields
    known = root or schema.embedded_resource
    for key, child in schema.properties.items():
        identifier = escaped(key)
        if identifier is None or (known and key in ("apiVersion", "kind", "metadata")):
            continue
        kind = _declare(child, f"{name}_{len(fields)}_{identifier}", messages)
        if kind is not None:
            fields[identifier] = kind
    if known:
        text: TypeName = {"type_name": "string"}
        fields |= {"apiVersion": text, "kind": text, "metadata": {"type_name": f"{name}_metadata"}}
        messages[f"{name}_metadata"] = {"name": text, "generateName": text}
    return {"type_name": name}


def type_name(kind: str) -> TypeName:
    """Return a type that the engine wrote, such as LIST<INT>, as environments are described; others are dynamic."""
    plain = kind.lower()
    if plain in ("bool", "int", "double", "string", "bytes", "timestamp", "duration"):
        return {"type_name": plain}
    inside = kind.partition("<")[2].removesuffix(">")
    if plain.startswith("list<"):
        return {"type_name": "list", "params": [type_name(inside)]}
    if plain.startswith("map<string, "):
        return {"type_name": "map", "params": [{"type_name": "string"}, type_name(inside.partition(", ")[2])]}
    return DYNAMIC
