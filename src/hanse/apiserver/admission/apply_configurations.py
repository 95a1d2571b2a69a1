"""What an apply configuration of a policy may hold: fields that the kind declares, and nothing that is one whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hanse.kube.patches.field_types import FieldType


def configuration_problem(config: Any, kind: FieldType) -> str:
    """Return why a configuration cannot be merged; "" where it can.

    Whoever writes a part of an atomic list, map or struct replaces all of it, which a policy hardly means.
    """
    unknown = next(_undeclared(config, kind, ""), "")
    if unknown:
        return f"failed to convert patch object to typed object: {unknown}: field not declared in schema"
    atomics = ", ".join(_atomics(config, kind, ""))
    if atomics:
        return f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {atomics}"
    return ""


def _undeclared(value: Any, kind: FieldType, path: str) -> Iterator[str]:
    schema = kind.schema
    if isinstance(value, dict):
        closed = bool(schema.properties) and schema.additional is None and not schema.preserve_unknown
        for name, inner in value.items():
            if closed and name not in schema.properties:
                yield f"{path}.{name}"
            else:
                yield from _undeclared(inner, kind.at(f"f:{name}"), f"{path}.{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _undeclared(inner, kind.element, f"{path}[{place}]")


def _atomics(value: Any, kind: FieldType, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        if kind.atomic_map:
            yield path
        for name, inner in value.items():
            if kind.declares(f"f:{name}"):
                yield from _atomics(inner, kind.at(f"f:{name}"), f"{path}.{name}")
    elif isinstance(value, list) and kind.schema.type == "array":
        if kind.atomic_list:
            yield path
        for place, inner in enumerate(value):
            yield from _atomics(inner, kind.element, f"{path}[{place}]")
