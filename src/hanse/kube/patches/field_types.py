"""How field ownership sees a schema: which parts are owned whole, and what identifies the elements of a list.

Where nothing is declared the form of the value decides: maps are owned field by field, lists whole.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import orjson

from hanse.kube.schemas.schema import Schema


class Absent:
    """The type of `ABSENT`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()
"""What stands where an object has no such field; not to be taken for null, which is a value."""


class UntypedError(ValueError):
    """A value that its schema cannot hold, or a list whose elements cannot be told apart."""


class FieldType:
    """A schema, read for ownership. Types below one are made once, as the same schema serves many objects."""

    __slots__ = ("_below", "atomic_list", "atomic_map", "keys", "schema", "structs")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.atomic_map = schema.map_type == "atomic"
        self.atomic_list = True
        self.keys: tuple[str, ...] = ()
        """What identifies an element of a list that is not atomic; empty for a set of scalars."""
        if schema.list_type:
            self.atomic_list = schema.list_type == "atomic"
            self.keys = schema.list_map_keys if schema.list_type == "map" else ()
        elif "merge" in schema.patch_strategy.split(","):
            self.atomic_list = False
            self.keys = (schema.patch_merge_key,) if schema.patch_merge_key else ()
        # Only a definition is a Go struct; CRDs say default: {} and mean it.
        named = schema.properties.items() if schema.name else ()
        self.structs = tuple(key for key, child in named if child.default == {} and child.type == "object")
        """Fields of a built-in kind that are always there, empty if need be."""
        self._below: dict[str, FieldType] = {}

    def declares(self, step: str) -> bool:
        """Tell whether a step is a field that the schema names, not an entry of a free map."""
        return step.startswith("f:") and step[2:] in self.schema.properties

    def at(self, step: str) -> FieldType:
        """Return the type below a step."""
        if step[0] != "f":
            return self.element
        declared = self.schema.properties.get(step[2:])
        # Entries of a map share one type, which must not be kept under each of their names.
        name = step if declared is not None else ""
        found = self._below.get(name)
        if found is None:
            found = self._below[name] = field_type(declared if declared is not None else self.schema.additional)
        return found

    @property
    def element(self) -> FieldType:
        """The type of a list's elements."""
        found = self._below.get("[]")
        if found is None:
            found = self._below["[]"] = field_type(self.schema.items)
        return found

    def element_step(self, element: Any) -> str:
        """Return the step that identifies a list's element; raises UntypedError where nothing does."""
        if not self.keys:
            if element is None or isinstance(element, dict | list):
                raise UntypedError("associative list without keys has an element that's a map type")
            return f"v:{_json(element)}"
        if not isinstance(element, dict):
            raise UntypedError("associative list with keys may not have non-map elements")
        identity = {}
        for key in self.keys:
            value = element[key] if key in element else self._default_of(key)
            if value is not None or key in element:
                identity[key] = value
        if not identity:
            names = " ".join(f'"{key}"' for key in self.keys)
            raise UntypedError(
                f"associative list with keys has an element that omits all key fields [{names}] "
                "(and doesn't have default values for any key fields)"
            )
        return f"k:{_json(identity)}"

    def _default_of(self, key: str) -> Any:
        child = self.schema.items.child(key) if self.schema.items is not None else None
        return child.default if child is not None else None

    def stored(self, key: str, value: Any) -> Any:
        """Return what a server's own form of an object holds for a field of its JSON.

        A built-in kind is a Go struct: its structs are always there, required fields have their zero value, and an
        empty map or list is as good as none.
        """
        if not self.schema.name or (value is not ABSENT and value is not None and value not in ({}, [])):
            return value
        child = self.schema.properties.get(key)
        if child is None or (value == {} and not child.additional):
            return value
        if child.default is not None and not child.default:
            return child.default
        return None if key in self.schema.required else ABSENT


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def field_type(schema: Schema | None) -> FieldType:
    """Return how ownership reads a schema; without one the form of the value decides."""
    return _UNTYPED if schema is None else _of_identity(_Identity(schema))


class _Identity:
    """Schemas are large values; as cache keys they stand for themselves."""

    __slots__ = ("schema",)

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.schema is other.schema


@lru_cache(maxsize=4096)
def _of_identity(identity: _Identity) -> FieldType:
    return FieldType(identity.schema)


_UNTYPED = FieldType(Schema(preserve_unknown=True))
