"""The schema of one node of a manifest, whoever declared it: Kubernetes' OpenAPI or a CRD.

One value serves validation, pruning and defaulting as well as strategic merge and server-side apply, which read the
list, map and patch markers. Children of an object are made when they are first asked for: that keeps recursive
definitions finite and spares a short-lived process the kinds that it never touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hanse.kube.manifest import Obj


class Properties(Mapping[str, "Schema"]):
    """The named children of an object's schema, each built on first use."""

    __slots__ = ("_build", "_built", "_raw")

    def __init__(self, raw: Mapping[str, Obj], build: Callable[[Obj], Schema]) -> None:
        self._raw = raw
        self._build = build
        self._built: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        built = self._built.get(name)
        if built is None:
            built = self._built[name] = self._build(self._raw[name])
        return built

    def get(self, name: str, default: Any = None) -> Any:
        """Return the child of that name, or the default."""
        built = self._built.get(name)
        if built is None:
            return self[name] if name in self._raw else default
        return built

    def __contains__(self, name: object) -> bool:
        return name in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


@dataclass(frozen=True, slots=True)
class Schema:
    """What a manifest may hold at one place, and how changes to it are merged."""

    type: str = ""
    """One of object, array, string, integer, number, boolean; "" where any type may stand."""
    name: str = ""
    """The name of the definition, such as io.k8s.api.core.v1.PodSpec; "" inside a CRD."""
    properties: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    items: Schema | None = None
    additional: Schema | None = None
    """The schema of the values of a map (additionalProperties)."""
    nullable: bool = False
    default: Any = None
    enum: tuple[Any, ...] = ()
    format: str = ""
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    one_of: tuple[Schema, ...] = ()
    any_of: tuple[Schema, ...] = ()
    all_of: tuple[Schema, ...] = ()
    negated: Schema | None = None
    """What must not validate (the keyword `not`)."""
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    list_type: str = ""
    """atomic, set or map; "" where the declaration is silent, which means atomic."""
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    """granular or atomic; "" where the declaration is silent, which means granular."""
    patch_strategy: str = ""
    """How a strategic merge patch treats the field: merge, replace, retainKeys, or two of them with a comma."""
    patch_merge_key: str = ""
    rules: tuple[Obj, ...] = ()
    """The CEL rules of a CRD (x-kubernetes-validations), as written."""

    def child(self, name: str) -> Schema | None:
        """Return the schema of a field or map entry, if one is declared."""
        found: Schema | None = self.properties.get(name)
        return self.additional if found is None else found

    def entry_key(self, item: Any) -> tuple[str, ...]:
        """Return what tells an entry of a keyed list from the others; a key that it leaves out has its default."""
        if not isinstance(item, dict):
            return (str(item),)
        return tuple(str(self._key_default(key) if item.get(key) is None else item[key]) for key in self.list_map_keys)

    def _key_default(self, key: str) -> Any:
        declared = self.items.child(key) if self.items is not None else None
        return declared.default if declared is not None else None


_PLAIN = {
    "type": "type",
    "nullable": "nullable",
    "default": "default",
    "format": "format",
    "pattern": "pattern",
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "exclusive_minimum",
    "exclusiveMaximum": "exclusive_maximum",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_items",
    "maxItems": "max_items",
    "uniqueItems": "unique_items",
    "minProperties": "min_properties",
    "maxProperties": "max_properties",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-preserve-unknown-fields": "preserve_unknown",
    "x-kubernetes-embedded-resource": "embedded_resource",
    "x-kubernetes-list-type": "list_type",
    "x-kubernetes-map-type": "map_type",
    "x-kubernetes-patch-strategy": "patch_strategy",
    "x-kubernetes-patch-merge-key": "patch_merge_key",
}
_LISTS = {
    "required": "required",
    "enum": "enum",
    "x-kubernetes-list-map-keys": "list_map_keys",
    "x-kubernetes-validations": "rules",
}
_BRANCHES = {"oneOf": "one_of", "anyOf": "any_of", "allOf": "all_of"}


def read_keywords(raw: Obj, build: Callable[[Obj], Schema]) -> dict[str, Any]:
    """Return the arguments of a Schema that the keywords of an OpenAPI schema spell; `build` makes the children."""
    found: dict[str, Any] = {_PLAIN[key]: value for key, value in raw.items() if key in _PLAIN}
    for key, name in _LISTS.items():
        if raw.get(key):
            found[name] = tuple(raw[key])
    for key, name in _BRANCHES.items():
        if raw.get(key):
            found[name] = tuple(build(branch) for branch in raw[key])
    if raw.get("not"):
        found["negated"] = build(raw["not"])
    if raw.get("properties"):
        found["properties"] = Properties(raw["properties"], build)
    if isinstance(raw.get("items"), dict):
        found["items"] = build(raw["items"])
    if isinstance(raw.get("additionalProperties"), dict):
        found["additional"] = build(raw["additionalProperties"])
    elif raw.get("additionalProperties") is True:
        found["additional"] = Schema(preserve_unknown=True, nullable=True)
    return found
