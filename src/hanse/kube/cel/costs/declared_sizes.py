"""How large a schema lets values become: by its limits, or by how much fits into a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.kube.cel.costs.amounts import ANY, Range
from hanse.kube.cel.costs.estimate import Path
from hanse.kube.cel.declared import escaped
from hanse.kube.schemas import Schema

_REQUEST = 3 * 1024 * 1024
_WITHIN_QUOTES = _REQUEST - 2
_TIMES = {"duration": (32, 3), "date": (12, 12), "date-time": (32, 21)}
"""For each format of a time: the longest that it can be written, and the shortest, in bytes of JSON."""
_SHORTEST_TEXT, _SHORTEST_OBJECT = 2, 2
_SHORTEST = {"boolean": 4, "number": 1, "integer": 1}


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there can be of something: characters, elements or entries; 0 where its size is of no account."""

    most: int
    shortest: int
    """The fewest bytes in which one of them can be written."""
    fields: Mapping[str, Extent] = field(default_factory=dict)
    values: Extent | None = None
    keys: Extent | None = None


@dataclass(frozen=True, slots=True)
class DeclaredSizes:
    """The sizes that the schema of `self` and `oldSelf` allows."""

    root: Extent
    unknown: Range = ANY

    def of(self, path: Path) -> Range | None:
        """Return the size of what a path leads to; None where the schema has nothing there."""
        if not path:
            return None
        here: Extent | None = self.root
        for step in path[1:]:
            if here is None:
                return None
            if step in ("@items", "@values"):
                here = here.values
            elif step == "@keys":
                here = here.keys
            else:
                here = here.fields.get(step)
        return Range(0, here.most) if here is not None else None


def repetitions(extent: Extent) -> int:
    """Return how often something can stand in one request."""
    return _REQUEST // (extent.shortest + 1)


def extent_of(schema: Schema, *, root: bool = False) -> Extent | None:
    """Return how large what a schema describes can be; None where expressions do not see it."""
    if schema.int_or_string:
        return Extent(_WITHIN_QUOTES if schema.max_length is None else schema.max_length * 4, 1)
    match schema.type:
        case "array":
            return _list_extent(schema)
        case "object":
            return _map_extent(schema) if schema.additional is not None else _object_extent(schema, root=root)
        case "string":
            return _text_extent(schema)
        case kind:
            return Extent(0, _SHORTEST[kind]) if kind in _SHORTEST else None


def _list_extent(schema: Schema) -> Extent | None:
    items = extent_of(schema.items, root=schema.items.embedded_resource) if schema.items is not None else None
    if items is None:
        return None
    most = max(schema.max_items, 0) if schema.max_items is not None else _WITHIN_QUOTES // (items.shortest + 1)
    return Extent(most, _SHORTEST_OBJECT, values=items)


def _map_extent(schema: Schema) -> Extent | None:
    inner = schema.additional
    values = extent_of(inner, root=inner.embedded_resource) if inner is not None else None
    if values is None:
        return None
    limit = schema.max_properties
    # A key needs its quotes, a colon, a comma and two characters to differ from the next.
    most = max(limit, 0) if limit is not None else _WITHIN_QUOTES // (values.shortest + 6)
    return Extent(most, _SHORTEST_OBJECT, values=values, keys=Extent(0, _SHORTEST_TEXT))


def _object_extent(schema: Schema, *, root: bool) -> Extent:
    text = Extent(_WITHIN_QUOTES, _SHORTEST_TEXT)
    fields: dict[str, Extent] = {}
    if root:
        fields = {"apiVersion": text, "kind": text}
        fields["metadata"] = Extent(0, _SHORTEST_OBJECT, {"name": text, "generateName": text})
    shortest = _SHORTEST_OBJECT
    for name, child in schema.properties.items():
        if root and name in fields:
            continue
        extent = extent_of(child, root=child.embedded_resource)
        if extent is None:
            continue
        identifier = escaped(name)
        if identifier is not None:
            fields[identifier] = extent
        if name in schema.required and child.default is None:
            shortest += len(name.encode()) + extent.shortest + 4
    return Extent(0, shortest, fields)


def _text_extent(schema: Schema) -> Extent:
    if schema.format in _TIMES:
        return Extent(*_TIMES[schema.format])
    if schema.max_length is not None:
        limit = max(schema.max_length, 0)
        # A limit counts characters, a request counts bytes.
        return Extent(limit if schema.format == "byte" else limit * 4, _SHORTEST_TEXT)
    if schema.enum and schema.format != "byte":
        return Extent(max((len(one.encode()) for one in schema.enum if isinstance(one, str)), default=0), 2)
    return Extent(_WITHIN_QUOTES, _SHORTEST_TEXT)
