"""Whether the rules of a CustomResourceDefinition can be understood, with upstream's sentences where they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import orjson

from hanse.apiserver.cel.cost_checks import CostChecks, multiplied
from hanse.apiserver.cel.schema_rules import apply_rules, rule_tree
from hanse.apiserver.cel.validations import MessageError, compile_validation, field_path
from hanse.apiserver.status import FieldProblem, forbidden_value, invalid_value, required_value, unsupported_value
from hanse.kube.cel.declared import TypeName, self_type
from hanse.kube.cel.rule import CompileError, EngineMissing, mentions
from hanse.kube.manifest import Obj
from hanse.kube.schemas import Schema, schema_from_crd

_RULES = "x-kubernetes-validations"
_NEEDLE = _RULES.encode()
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_GO_NAMES = {
    "rule": ("Rule", ""),
    "message": ("Message", ""),
    "messageExpression": ("MessageExpression", ""),
    "reason": ("Reason", None),
    "fieldPath": ("FieldPath", ""),
    "optionalOldSelf": ("OptionalOldSelf", None),
}


@dataclass(frozen=True, slots=True)
class _Place:
    """A node of a schema that has rules."""

    schema: Schema
    field: str
    root: bool
    uncorrelated: str = ""
    """The list, if any, whose elements have no former value to compare with."""
    times: int | None = 1
    """How often it can occur in an object; None where nothing limits that."""


def rule_problems(openapi: Obj, field: str, *, settled: bool = False) -> list[FieldProblem]:
    """Return what is wrong with the rules of a version's schema, which is itself structural.

    A schema that is `settled` was accepted before: none of its rules is too costly by itself any more.
    """
    written = orjson.dumps(openapi)
    return list(_problems_of(written, field, settled=settled)) if _NEEDLE in written else []


# A definition is checked on every write, its status included, and by each server that a process embeds: compiling the
# same rules again is most of what that costs.
@lru_cache(maxsize=64)
def _problems_of(written: bytes, field: str, *, settled: bool) -> tuple[FieldProblem, ...]:
    openapi = orjson.loads(written)
    places = list(_places(_Place(schema_from_crd(openapi), field, root=True), openapi))
    problems = [problem for place in places for problem in _form_problems(place.schema, place.field)]
    problems += _nested_problems(openapi, field)
    if problems:
        return tuple(problems)
    costs = CostChecks(settled)
    try:
        problems = [problem for place in places for problem in _meaning_problems(place, costs)]
    except EngineMissing as error:
        return (forbidden_value(field, str(error)),)
    problems += costs.total_problems(field)
    return tuple(problems) or tuple(_default_problems(_Place(schema_from_crd(openapi), field, root=True), openapi))


def _default_problems(place: _Place, openapi: Obj) -> Iterator[FieldProblem]:
    """Yield the rules that a default breaks by itself, before the defaults within it are filled in."""
    schema = place.schema
    if schema.default is not None and (tree := rule_tree(schema, root=place.root)) is not None:
        for found in apply_rules(tree, schema.default, None).problems:
            below = found.field.removeprefix("<nil>")
            step = "." if below and not below.startswith("[") else ""
            yield replace(found, field=f"{place.field}.default{step}{below}")
    for child, raw in _children(place, openapi):
        yield from _default_problems(child, raw)


def _is_ruled(openapi: Any) -> bool:
    """Tell whether a schema may have a rule in it; most of a large one has none, and need not be looked at."""
    return isinstance(openapi, dict) and _NEEDLE in orjson.dumps(openapi)


def _places(place: _Place, openapi: Obj) -> Iterator[_Place]:
    """Yield the places that have rules, from the root down."""
    if place.schema.rules:
        yield place
    for child, raw in _children(place, openapi):
        yield from _places(child, raw)


def _children(place: _Place, openapi: Obj) -> Iterator[tuple[_Place, Obj]]:
    """Yield the places below that may have rules in them."""
    schema, field = place.schema, place.field
    for name, raw in sorted((openapi.get("properties") or {}).items()):
        if name != "metadata" and _is_ruled(raw):
            yield replace(place, schema=schema.properties[name], field=f"{field}.properties[{name}]", root=False), raw
    inner = replace(place, root=False, times=multiplied(place.times, schema))
    if schema.items is not None and _is_ruled(raw := openapi["items"]):
        uncorrelated = place.uncorrelated or ("" if schema.list_type == "map" else field)
        yield replace(inner, schema=schema.items, field=f"{field}.items", uncorrelated=uncorrelated), raw
    if schema.additional is not None and _is_ruled(raw := openapi["additionalProperties"]):
        yield replace(inner, schema=schema.additional, field=f"{field}.additionalProperties"), raw


def _nested_problems(openapi: Any, field: str, *, nested: bool = False) -> Iterator[FieldProblem]:
    """Yield the rules that stand where a schema only restricts what another one declares."""
    if not _is_ruled(openapi):
        return
    if nested and openapi.get(_RULES):
        yield forbidden_value(f"{field}.{_RULES}", "must be empty to be structural")
    for name in ("allOf", "anyOf", "oneOf"):
        for place, branch in enumerate(openapi.get(name) or ()):
            yield from _nested_problems(branch, f"{field}.{name}[{place}]", nested=True)
    yield from _nested_problems(openapi.get("not"), f"{field}.not", nested=True)
    for name, child in sorted((openapi.get("properties") or {}).items()):
        yield from _nested_problems(child, f"{field}.properties[{name}]", nested=nested)
    for name in ("items", "additionalProperties"):
        yield from _nested_problems(openapi.get(name), f"{field}.{name}", nested=nested)


def _form_problems(schema: Schema, field: str) -> Iterator[FieldProblem]:
    for place, entry in enumerate(schema.rules):
        at = f"{field}.{_RULES}[{place}]"
        rule, message = str(entry.get("rule") or "").strip(), str(entry.get("message") or "")
        if not rule:
            yield required_value(f"{at}.rule", "rule is not specified")
        elif message and not message.strip():
            yield invalid_value(f"{at}.message", message, "must be non-empty if specified")
        elif "\n" in message.strip():
            yield invalid_value(f"{at}.message", message, "must not contain line breaks")
        elif "\n" in rule and not message.strip():
            yield required_value(f"{at}.message", "message must be specified if rule contains line breaks")
        expression = str(entry.get("messageExpression") or "")
        if expression and not expression.strip():
            told = "messageExpression must be non-empty if specified"
            yield required_value(f"{at}.messageExpression", told)
        if entry.get("reason") is not None and entry["reason"] not in _REASONS:
            yield unsupported_value(f"{at}.reason", entry["reason"], _REASONS)
        yield from _path_problems(str(entry.get("fieldPath") or ""), schema, f"{at}.fieldPath")


def _path_problems(path: str, schema: Schema, field: str) -> Iterator[FieldProblem]:
    if path and not path.strip():
        yield invalid_value(field, path, "must be non-empty if specified")
    if "\n" in path:
        yield invalid_value(field, path, "must not contain line breaks")
    if path and field_path(path, schema) is None:
        yield invalid_value(field, path, "must be a valid path")


def _meaning_problems(place: _Place, costs: CostChecks) -> Iterator[FieldProblem]:
    kind, messages = self_type(place.schema, root=place.root)
    for index, entry in enumerate(place.schema.rules):
        at = f"{place.field}.{_RULES}[{index}]"
        if kind is None:
            told = "Internal error: failed to convert to declType for CEL validation rules"
            yield FieldProblem(at.rpartition("[")[0], "InternalError", told)
        else:
            yield from _entry_problems(entry, place, at, kind, messages, costs)
        if mentions(str(entry["rule"]), "oldSelf"):
            if place.uncorrelated:
                told = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
                yield invalid_value(f"{at}.rule", entry["rule"], told)
        elif entry.get("optionalOldSelf") is not None:
            told = "may not be set if oldSelf is not used in rule"
            yield invalid_value(f"{at}.optionalOldSelf", entry["optionalOldSelf"], told)


def _entry_problems(
    entry: Obj, place: _Place, at: str, kind: TypeName, messages: dict[str, dict[str, TypeName]], costs: CostChecks
) -> Iterator[FieldProblem]:
    try:
        validation = compile_validation(entry, place.schema, kind, messages)
    except MessageError as error:
        yield FieldProblem(f"{at}.messageExpression", "FieldValueInvalid", f"Invalid value: {_shown(entry)}: {error}")
    except CompileError as error:
        yield FieldProblem(f"{at}.rule", "FieldValueInvalid", f"Invalid value: {_shown(entry)}: {error}")
    else:
        yield from costs.rule_problems(validation, place.schema, at, root=place.root, times=place.times)


def _shown(entry: Obj) -> str:
    """Write a rule as upstream's messages do: its internal struct, escaped for HTML."""
    written = {go: entry.get(name, empty) for name, (go, empty) in _GO_NAMES.items()}
    text = orjson.dumps(written).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
