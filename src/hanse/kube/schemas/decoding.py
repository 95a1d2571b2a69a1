"""What an API server's decoder refuses in a built-in kind.

A real server reads these kinds into Go structs. A value of the wrong JSON type stops it with a sentence that names
the struct, and under strict field validation every unknown field is reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hanse.kube.quantities import parse_quantity
from hanse.kube.schemas.builtin import definition
from hanse.kube.schemas.formats import format_check
from hanse.kube.schemas.schema import Schema

_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_SCALARS = {"string": "string", "boolean": "bool", "number": "float64"}


@dataclass(frozen=True, slots=True)
class DecodeErrors:
    """What is wrong with an object's form: one refusal at most, and the fields that nobody knows."""

    refusal: str = ""
    """The decoder's sentence about the first value of a wrong type; "" when all types are right."""
    unknown: tuple[str, ...] = ()
    """Paths of unknown fields, in the order of the document."""

    @property
    def strict(self) -> str:
        """The sentence for fieldValidation=Strict about unknown fields; "" when there are none."""
        if not self.unknown:
            return ""
        return "strict decoding error: " + ", ".join(self.warnings)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What fieldValidation=Warn says of each unknown field."""
        return tuple(f'unknown field "{path}"' for path in self.unknown)


def decode_errors(schema: Schema, obj: Any) -> DecodeErrors:
    """Return what a server's decoder would refuse in an object of a built-in kind; the object is left as it is."""
    refusal = next(_refusals(schema, obj, _Place("", "")), "")
    return DecodeErrors(refusal, tuple(_unknown(schema, obj, "")))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the decoder stands: the innermost struct, and the fields that led there."""

    struct: str
    fields: str

    def into(self, schema: Schema, field: str) -> _Place:
        struct = schema.name.rpartition(".")[2]
        return _Place(struct, f"{self.fields}.{field}" if self.fields else field)

    def refuses(self, found: str, go_type: str) -> str:
        if self.struct:
            return f"json: cannot unmarshal {found} into Go struct field {self.struct}.{self.fields} of type {go_type}"
        return f"json: cannot unmarshal {found} into Go value of type {go_type}"


def _refusals(schema: Schema, value: Any, place: _Place) -> Iterator[str]:
    if value is None or schema.preserve_unknown:
        if schema.name in _SCHEMA_OR:
            yield from _schema_or(value, place)
        return
    if schema.name in _SPECIAL or schema.int_or_string:
        yield from _SPECIAL.get(schema.name, _int_or_string)(value, place)
    elif schema.type == "object":
        yield from _object_refusals(schema, value, place)
    elif schema.type == "array":
        if not isinstance(value, list):
            yield place.refuses(_found(value), _go_type(schema))
        elif schema.items is not None:
            for inner in value:
                yield from _refusals(schema.items, inner, place)
    else:
        yield from _scalar_refusals(schema, value, place)


def _object_refusals(schema: Schema, value: Any, place: _Place) -> Iterator[str]:
    if not isinstance(value, dict):
        yield place.refuses(_found(value), _go_type(schema))
        return
    for key, inner in value.items():
        child: Schema | None = schema.properties.get(key)
        if child is not None:
            # Most values are plain text where text belongs; naming their place would be most of the work.
            if inner.__class__ is not str or child.type != "string" or child.format:
                yield from _refusals(child, inner, place.into(schema, key))
        elif schema.additional is not None:
            yield from _refusals(schema.additional, inner, place)


def _scalar_refusals(schema: Schema, value: Any, place: _Place) -> Iterator[str]:
    go_type = _go_type(schema)
    match schema.type:
        case "string":
            fits = isinstance(value, str)
        case "boolean":
            fits = isinstance(value, bool)
        case "integer":
            bits = 31 if go_type == "int32" else 63
            fits = isinstance(value, int) and not isinstance(value, bool) and -(2**bits) <= value < 2**bits
        case "number":
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        case _:
            fits = True
    if not fits:
        yield place.refuses(_found(value, exact=schema.type == "integer"), go_type)
    elif schema.format == "byte":
        check = format_check("byte")
        if check is not None and not check(value):
            yield f"illegal base64 data at input byte {_first_bad_byte(value)}"


def _first_bad_byte(value: str) -> int:
    good = re.match(r"[A-Za-z0-9+/]*", value)
    end = good.end() if good else 0
    return end if end < len(value) and value[end] != "=" else len(value) // 4 * 4


def _found(value: Any, *, exact: bool = False) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return f"number {value}" if exact else "number"
        case dict():
            return "object"
        case _:
            return "array"


def _go_type(schema: Schema) -> str:
    """Return Go's name for the type, as far as a schema tells: named strings look like plain ones."""
    if schema.format == "byte":
        return "[]uint8"
    if schema.type == "array":
        return f"[]{_go_type(schema.items)}" if schema.items is not None else "[]interface {}"
    if schema.type == "object" and schema.name:
        *_, package, struct = schema.name.split(".")
        return f"{package}.{struct}"
    if schema.type == "object":
        return (
            f"map[string]{_go_type(schema.additional)}" if schema.additional is not None else "map[string]interface {}"
        )
    if schema.type == "integer":
        return schema.format or "int32"
    return _SCALARS.get(schema.type, "interface {}")


def _int_or_string(value: Any, place: _Place) -> Iterator[str]:
    if isinstance(value, str):
        return
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
        exact = isinstance(value, int | float) and not isinstance(value, bool)
        yield place.refuses(_found(value, exact=exact), "int32")


def _quantity(value: Any, _place: _Place) -> Iterator[str]:
    text = value if isinstance(value, str) else str(value)
    try:
        parse_quantity(text.strip())
    except ValueError as error:
        yield str(error)


def _time(layout: str) -> Callable[[Any, _Place], Iterator[str]]:
    def check(value: Any, place: _Place) -> Iterator[str]:
        if not isinstance(value, str):
            yield place.refuses(_found(value), "string")
            return
        is_time = format_check("date-time")
        if is_time is not None and not is_time(value):
            # Where Go's parser stops depends on how far the text looked like a time.
            at, wanted = _stops(value)
            yield f'parsing time "{value}" as "{layout}": cannot parse "{value[at:]}" as "{wanted}"'

    return check


_LAYOUT = (
    (r"\d{4}", "2006"), ("-", "-"), (r"\d\d", "01"), ("-", "-"), (r"\d\d", "02"), ("T", "T"), (r"\d\d", "15"),
    (":", ":"), (r"\d\d", "04"), (":", ":"), (r"\d\d(\.\d+)?", "05"), (r"Z|[+-]\d\d:\d\d", "Z07:00"),
)  # fmt: skip


def _stops(value: str) -> tuple[int, str]:
    at = 0
    for pattern, wanted in _LAYOUT:
        match = re.compile(pattern).match(value, at)
        if match is None:
            return at, wanted
        at = match.end()
    return at, "Z07:00"


_SPECIAL = {
    _QUANTITY: _quantity,
    f"{_META}Time": _time("2006-01-02T15:04:05Z07:00"),
    f"{_META}MicroTime": _time("2006-01-02T15:04:05.000000Z07:00"),
}


_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_SCHEMA_OR = frozenset(f"{_EXTENSIONS}JSONSchemaPropsOr{other}" for other in ("Array", "Bool", "StringArray"))


def _schema_or(value: Any, place: _Place) -> Iterator[str]:
    """Look into what may be a schema, a list of them or something else: the schemas are read as all others."""
    for each in value if isinstance(value, list) else (value,):
        if isinstance(each, dict):
            yield from _refusals(definition(f"{_EXTENSIONS}JSONSchemaProps"), each, place)


def _unknown(schema: Schema, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            where = f"{path}.{key}" if path else key
            child = schema.child(key)
            if child is not None:
                if isinstance(inner, dict | list):
                    yield from _unknown(child, inner, where)
            elif not schema.preserve_unknown and schema.type == "object":
                yield where
    elif isinstance(value, list) and schema.items is not None:
        for index, inner in enumerate(value):
            yield from _unknown(schema.items, inner, f"{path}[{index}]")
