"""Whether the rules of a CustomResourceDefinition can be understood, with upstream's sentences where they cannot."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from hanse.apiserver.cel.declared import TypeName, self_type
from hanse.apiserver.cel.rule import CompileError, EngineMissing, mentions
from hanse.apiserver.cel.validations import MessageError, compile_validation, field_path
from hanse.apiserver.status import FieldProblem, forbidden_value, invalid_value, required_value, unsupported_value
from hanse.kube.manifest import Obj
from hanse.kube.schemas import Schema, schema_from_crd

_RULES = "x-kubernetes-validations"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_GO_NAMES = {
    "rule": ("Rule", ""),
    "message": ("Message", ""),
    "messageExpression": ("MessageExpression", ""),
    "reason": ("Reason", None),
    "fieldPath": ("FieldPath", ""),
    "optionalOldSelf": ("OptionalOldSelf", None),
}


def rule_problems(openapi: Obj, field: str) -> list[FieldProblem]:
    """Return what is wrong with the rules of a version's schema, which is itself structural."""
    schema = schema_from_crd(openapi)
    problems = [problem for node, at, _ in _nodes(schema, field, "") for problem in _form_problems(node, at)]
    if problems:
        return problems
    try:
        return [
            problem
            for node, at, uncorrelated in _nodes(schema, field, "")
            for problem in _meaning_problems(node, at, uncorrelated, root=node is schema)
        ]
    except EngineMissing as error:
        return [forbidden_value(field, str(error))]


def _nodes(schema: Schema, field: str, uncorrelated: str) -> Iterator[tuple[Schema, str, str]]:
    """Yield the nodes that have rules, with the list, if any, whose elements have no former value to compare with."""
    if schema.rules:
        yield schema, field, uncorrelated
    for name in sorted(schema.properties):
        if name != "metadata":
            yield from _nodes(schema.properties[name], f"{field}.properties[{name}]", uncorrelated)
    if schema.items is not None:
        inner = uncorrelated or ("" if schema.list_type == "map" else field)
        yield from _nodes(schema.items, f"{field}.items", inner)
    if schema.additional is not None:
        yield from _nodes(schema.additional, f"{field}.additionalProperties", uncorrelated)


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


def _meaning_problems(schema: Schema, field: str, uncorrelated: str, *, root: bool) -> Iterator[FieldProblem]:
    kind, messages = self_type(schema, root=root)
    for place, entry in enumerate(schema.rules):
        at = f"{field}.{_RULES}[{place}]"
        yield from _compile_problems(entry, schema, at, kind, messages)
        if mentions(str(entry["rule"]), "oldSelf"):
            if uncorrelated:
                told = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
                yield invalid_value(f"{at}.rule", entry["rule"], told)
        elif entry.get("optionalOldSelf") is not None:
            told = "may not be set if oldSelf is not used in rule"
            yield invalid_value(f"{at}.optionalOldSelf", entry["optionalOldSelf"], told)


def _compile_problems(
    entry: Obj, schema: Schema, at: str, kind: TypeName | None, messages: dict[str, dict[str, TypeName]]
) -> Iterator[FieldProblem]:
    if kind is None:
        told = "Internal error: failed to convert to declType for CEL validation rules"
        yield FieldProblem(at.rpartition("[")[0], "InternalError", told)
        return
    try:
        compile_validation(entry, schema, kind, messages)
    except MessageError as error:
        yield FieldProblem(f"{at}.messageExpression", "FieldValueInvalid", f"Invalid value: {_shown(entry)}: {error}")
    except CompileError as error:
        yield FieldProblem(f"{at}.rule", "FieldValueInvalid", f"Invalid value: {_shown(entry)}: {error}")


def _shown(entry: Obj) -> str:
    """Write a rule as upstream's messages do: its internal struct, escaped for HTML."""
    written = {go: entry.get(name, empty) for name, (go, empty) in _GO_NAMES.items()}
    text = orjson.dumps(written).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
