"""Bodies against their kind's schema: wrong types, unknown fields, defaults and rules of custom kinds."""

from __future__ import annotations

from hanse.apiserver import status
from hanse.apiserver.cel.schema_rules import apply_rules
from hanse.apiserver.core import Call
from hanse.apiserver.registry import Served
from hanse.apiserver.status import FieldProblem
from hanse.kube.cel.rule import EngineMissing
from hanse.kube.manifest import Obj
from hanse.kube.schemas import Schema
from hanse.kube.schemas.decoding import decode_errors
from hanse.kube.schemas.go_shape import write_as_go
from hanse.kube.schemas.structural import drop_nulls, fill_defaults, prune
from hanse.kube.schemas.validation import validate

# Rules are only asked about objects whose form they can rely on.
_BLOCKING = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def check_shape(call: Call, obj: Obj) -> None:
    """Refuse what the kind cannot hold and drop what it does not know, as fieldValidation says."""
    schema = call.served.schema()
    if schema is None:
        return
    wanted = call.options.text("fieldValidation") or "Warn"
    if call.served.custom:
        _check_metadata(call, schema, obj)
        unknown = prune(schema, obj)
    else:
        unknown = _decoded(call, schema, obj)
    if not unknown or wanted == "Ignore":
        return
    told = [f'unknown field "{path}"' for path in unknown]
    if wanted == "Strict":
        raise status.bad_request(f"{_unhandled(call)}: strict decoding error: {', '.join(told)}")
    call.warnings += [one for one in told if one not in call.warnings]


def _check_metadata(call: Call, schema: Schema, obj: Obj) -> None:
    # Of a custom object only this much is read into a Go struct.
    metadata = schema.child("metadata")
    refusal = decode_errors(metadata, obj["metadata"]).refusal if metadata is not None else ""
    if refusal:
        raise status.bad_request(f"{_unhandled(call)}: {refusal}")


def _unhandled(call: Call) -> str:
    resource = call.served.resource
    return f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'


def _decoded(call: Call, schema: Schema, obj: Obj) -> list[str]:
    errors = decode_errors(schema, obj)
    if errors.refusal:
        raise status.bad_request(f"{_unhandled(call)}: {errors.refusal}")
    if errors.unknown:
        prune(schema, obj)
    write_as_go(call.served.resource.api_version, obj)
    return list(errors.unknown)


def fill_custom_defaults(kind: Served, obj: Obj) -> None:
    """Fill in the defaults of a custom kind's schema."""
    schema = kind.schema() if kind.custom else None
    if schema is not None:
        drop_nulls(schema, obj)
        fill_defaults(schema, obj)


def custom_problems(call: Call, kind: Served, obj: Obj, old: Obj | None) -> list[FieldProblem]:
    """Check a custom object against its schema and the rules in it."""
    schema = kind.schema() if kind.custom else None
    if schema is None:
        return []
    problems = [FieldProblem(error.path, error.reason, error.message) for error in validate(schema, obj)]
    try:
        rules = kind.rules()
    except EngineMissing as error:
        raise status.internal(str(error)) from None
    if rules is None:
        return problems
    if any(problem.reason in _BLOCKING for problem in problems):
        return [*problems, status.invalid_value("<nil>", None, _UNCHECKED)]
    findings = apply_rules(rules, obj, old)
    call.warnings += findings.warnings
    return problems + findings.problems
