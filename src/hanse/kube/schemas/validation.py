"""Validation of custom resources against their CRD's schema, in Kubernetes' own words."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from hanse.kube.manifest import Obj
from hanse.kube.patches.merge_patch import same
from hanse.kube.schemas.formats import format_check
from hanse.kube.schemas.schema import Schema


@dataclass(frozen=True, slots=True)
class FieldError:
    """One mistake in a manifest: where, of which sort, and what to tell the user."""

    path: str
    reason: str
    """As in a Status' causes: FieldValueInvalid, FieldValueRequired, …"""
    message: str
    """What follows the path, as in a Status' causes: `Invalid value: 3: must be …`."""
    value: Any = None

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def shown(value: Any) -> str:
    """Write a value as Kubernetes' messages do: strings quoted, numbers plain, the rest as JSON."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return json.dumps(value, default=str)  # a number or a text that no server would store


def invalid(path: str, value: Any, detail: str) -> FieldError:
    """Return the error for a value that breaks a rule."""
    return FieldError(path, "FieldValueInvalid", f"Invalid value: {shown(value)}: {detail}", value)


def required(path: str, detail: str = "") -> FieldError:
    """Return the error for a field that must be there."""
    return FieldError(path, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value", "")


def not_supported(path: str, value: Any, supported: list[str]) -> FieldError:
    """Return the error for a value outside a closed set."""
    choices = ", ".join(shown(choice) for choice in supported)
    message = f"Unsupported value: {shown(value)}: supported values: {choices}"
    return FieldError(path, "FieldValueNotSupported", message, value)


def too_many(path: str, actual: int, maximum: int) -> FieldError:
    """Return the error for a list or map with too many entries."""
    message = f"Too many: {actual}: must have at most {maximum} item{'' if maximum == 1 else 's'}"
    return FieldError(path, "FieldValueTooMany", message, actual)


def validate(schema: Schema, obj: Any) -> list[FieldError]:
    """Return every mistake that the schema finds in an object; empty when it is valid."""
    return list(_validate(schema, obj, ""))


def _validate(schema: Schema, value: Any, path: str) -> Iterator[FieldError]:
    if value is None:
        if _types(schema) and not schema.nullable:
            yield _wrong_type(schema, "null", path)
    else:
        wrong = _check_type(schema, value)
        if wrong:
            yield _wrong_type(schema, wrong, path)
        yield from _branches(schema, value, path)
    if schema.enum and not any(same(value, choice) for choice in schema.enum):
        choices = [choice if isinstance(choice, str) else shown(choice) for choice in schema.enum]
        yield not_supported(path, value, choices)
    if isinstance(value, str):
        yield from _text(schema, value, path)
    elif isinstance(value, dict):
        yield from _object(schema, value, path)
    elif isinstance(value, list):
        yield from _list(schema, value, path)
    elif value is not None and not isinstance(value, bool):
        yield from _number(schema, value, path)


def _types(schema: Schema) -> str:
    return "integer,string" if schema.int_or_string else schema.type


def _wrong_type(schema: Schema, found: str, path: str) -> FieldError:
    detail = f"{_in_body(path)} must be of type {_types(schema)}: {shown(found)}"
    return FieldError(path, "FieldValueTypeInvalid", f"Invalid value: {shown(found)}: {detail}", found)


def _in_body(path: str) -> str:
    return f"{path} in body"


def _check_type(schema: Schema, value: Any) -> str:
    """Return the JSON type of a value that may not stand here, "" where all is well."""
    found = _json_type(value)
    wanted = _types(schema)
    if found in wanted or not wanted:
        return ""
    if found == "integer" and wanted == "number":
        return ""
    if found == "number" and "integer" in wanted and float(value).is_integer():
        return ""
    return found


def _json_type(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "number"
        case dict():
            return "object"
        case _:
            return "array"


def _branches(schema: Schema, value: Any, path: str) -> Iterator[FieldError]:
    if schema.any_of:
        yield from _any_of(schema.any_of, value, path)
    if schema.one_of:
        yield from _one_of(schema.one_of, value, path)
    if schema.all_of:
        results = [list(_validate(branch, value, path)) for branch in schema.all_of]
        for result in results:
            yield from result
        if any(results):
            rest = ". None validated" if all(results) else ""
            yield _composite(f"{shown(path)} must validate all the schemas (allOf){rest}")
    if schema.negated is not None and not any(_validate(schema.negated, value, path)):
        yield _composite(f"{shown(path)} must not validate the schema (not)")


def _any_of(branches: tuple[Schema, ...], value: Any, path: str) -> Iterator[FieldError]:
    results = [list(_validate(branch, value, path)) for branch in branches]
    if all(results):
        yield _composite(f"{shown(path)} must validate at least one schema (anyOf)")
        yield from results[0]


def _one_of(branches: tuple[Schema, ...], value: Any, path: str) -> Iterator[FieldError]:
    results = [list(_validate(branch, value, path)) for branch in branches]
    valid = results.count([])
    if valid != 1:
        rest = f"Found {valid} valid alternatives" if valid else "Found none valid"
        yield _composite(f"{shown(path)} must validate one and only one schema (oneOf). {rest}")
        if not valid:
            yield from results[0]


def _composite(detail: str) -> FieldError:
    # The server loses the path of these, and writes the absent one so.
    return invalid("<nil>", "", detail)


def _text(schema: Schema, value: str, path: str) -> Iterator[FieldError]:
    where = _in_body(path)
    if schema.max_length is not None and len(value) > schema.max_length:
        limit = f"{schema.max_length} byte{'' if schema.max_length == 1 else 's'}"
        yield FieldError(path, "FieldValueTooLong", f"Too long: may not be more than {limit}", value)
    if schema.min_length is not None and len(value) < schema.min_length:
        yield invalid(path, value, f"{where} should be at least {schema.min_length} chars long")
    if schema.pattern and not _compiled(schema.pattern).search(value):
        yield invalid(path, value, f"{where} should match '{schema.pattern}'")
    if schema.format and schema.type in ("", "string"):
        check = format_check(schema.format)
        if check is not None and not check(value):
            detail = f"{where} must be of type {schema.format}: {shown(value)}"
            yield FieldError(path, "FieldValueTypeInvalid", f"Invalid value: {shown(value)}: {detail}", value)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Go's \z is Python's \Z, and Go's $ never matches before a closing line feed.
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern.replace(r"\z", r"\Z")))


def _number(schema: Schema, value: float, path: str) -> Iterator[FieldError]:
    where = _in_body(path)
    if schema.multiple_of and (value / schema.multiple_of) % 1:
        yield invalid(path, value, f"{where} should be a multiple of {_plain(schema.multiple_of)}")
    if schema.maximum is not None and (value >= schema.maximum if schema.exclusive_maximum else value > schema.maximum):
        rule = "less than" if schema.exclusive_maximum else "less than or equal to"
        yield invalid(path, value, f"{where} should be {rule} {_plain(schema.maximum)}")
    if schema.minimum is not None and (value <= schema.minimum if schema.exclusive_minimum else value < schema.minimum):
        rule = "greater than" if schema.exclusive_minimum else "greater than or equal to"
        yield invalid(path, value, f"{where} should be {rule} {_plain(schema.minimum)}")
    if schema.type == "integer":
        bits = 31 if schema.format == "int32" else 63
        if value % 1 or not -(2**bits) <= value < 2**bits:
            form = f"with format {schema.format}" if schema.format else "(default format)"
            yield _composite(f"Checked value must be of type integer {form} in {path}")


def _plain(number: float) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)


def _list(schema: Schema, value: list[Any], path: str) -> Iterator[FieldError]:
    if schema.items is not None:
        for index, inner in enumerate(value):
            yield from _validate(schema.items, inner, f"{path}[{index}]")
    where = _in_body(path)
    if schema.min_items is not None and len(value) < schema.min_items:
        yield invalid(path, len(value), f"{where} should have at least {schema.min_items} items")
    if schema.max_items is not None and len(value) > schema.max_items:
        yield too_many(path, len(value), schema.max_items)
    if schema.unique_items and any(same(a, b) for index, a in enumerate(value) for b in value[:index]):
        yield invalid(path, value, f"{where} shouldn't contain duplicates")
    if schema.list_type in ("set", "map"):
        yield from _duplicates(schema, value, path)


def _duplicates(schema: Schema, value: list[Any], path: str) -> Iterator[FieldError]:
    """Refuse a second element of the same identity, once each."""
    identities = value
    if schema.list_type == "map":
        for index, inner in enumerate(value):
            if inner is not None and not isinstance(inner, dict):
                yield invalid(f"{path}[{index}]", inner, "must be an object for an array of list-type map")
                return
        identities = [_identity(schema, inner or {}) for inner in value]
    times: Counter[bytes] = Counter()
    for index, identity in enumerate(identities):
        key = orjson.dumps(identity, option=orjson.OPT_SORT_KEYS)
        times[key] += 1
        if times[key] == 2:
            yield FieldError(f"{path}[{index}]", "FieldValueDuplicate", f"Duplicate value: {shown(identity)}", identity)


def _identity(schema: Schema, element: Obj) -> Obj:
    return {key: element[key] for key in schema.list_map_keys if key in element}


def _object(schema: Schema, value: dict[str, Any], path: str) -> Iterator[FieldError]:
    where = _in_body(path)
    if schema.min_properties is not None and len(value) < schema.min_properties:
        yield invalid(path, len(value), f"{where} should have at least {schema.min_properties} properties")
    if schema.max_properties is not None and len(value) > schema.max_properties:
        yield too_many(path, len(value), schema.max_properties)
    for key, inner in value.items():
        child = schema.child(key)
        # metadata is checked when it is decoded; a CRD's own rules for it reach only the names.
        if child is not None:
            yield from _validate(child, inner, f"{path}.{key}" if path else key)
    for key in schema.required:
        if key not in value:
            yield required(f"{path}.{key}" if path else key)
