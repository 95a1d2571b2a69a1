"""Admission policies and their bindings: their defaults, and what a server refuses in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.builtin.webhook_kinds import (
    FAILURE_POLICIES,
    condition_problems,
    default_rules,
    expression_problems,
    rule_problems,
)
from hanse.apiserver.cel.admission_expressions import APPLY_CONFIGURATION, JSON_PATCH, Scope, scope_of
from hanse.apiserver.status import (
    FieldProblem,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required_value,
    unsupported_value,
)
from hanse.kube.manifest import Obj, dig
from hanse.kube.selectors import qualified_name_problems

_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_EMPTY = "validations or auditAnnotations must contain at least one item"


def _default_resources(resources: Obj | None) -> None:
    if resources is None:
        return
    resources.setdefault("matchPolicy", "Equivalent")
    resources.setdefault("namespaceSelector", {})
    resources.setdefault("objectSelector", {})
    default_rules(resources.get("resourceRules"))
    default_rules(resources.get("excludeResourceRules"))


def _default_policy(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    _default_resources(spec.get("matchConstraints"))


def _default_binding(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _default_resources(spec.get("matchResources"))


def _validate_validating(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec = obj["spec"]
    problems = [*_policy_problems(spec)]
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        problems += [required_value("spec.validations", _EMPTY), required_value("spec.auditAnnotations", _EMPTY)]
    for place, validation in enumerate(validations):
        problems += _validation_problems(validation, f"spec.validations[{place}]", spec)
    return [*problems, *_annotation_problems(annotations, spec, str(obj["metadata"].get("name") or ""))]


def _annotation_problems(annotations: list[Obj], spec: Obj, policy: str) -> Iterator[FieldProblem]:
    keys: set[str] = set()
    for place, annotation in enumerate(annotations):
        field, key = f"spec.auditAnnotations[{place}]", str(annotation.get("key") or "")
        # An audit event carries the annotations of all policies, so that a key is known by its policy too.
        told = qualified_name_problems(f"{policy}/{key}")
        yield from (invalid_value(f"{field}.key", f"{policy}/{key}", one) for one in told)
        source, gives = annotation.get("valueExpression"), ("STRING", "NULL")
        missing = "valueExpression is not specified"
        yield from expression_problems(source, f"{field}.valueExpression", gives, scope_of(spec), missing)
        if key in keys:
            yield duplicate_value(f"{field}.key", key)
        keys.add(key)


def _validate_mutating(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec = obj["spec"]
    problems = [*_policy_problems(spec), *_immutable_operations(spec)]
    mutations = spec.get("mutations") or []
    if not mutations:
        problems.append(required_value("spec.mutations", "mutations must contain at least one item"))
    for place, mutation in enumerate(mutations):
        problems += _mutation_problems(mutation, f"spec.mutations[{place}]", spec)
    again = spec.get("reinvocationPolicy")
    if not again:
        problems.append(required_value("spec.reinvocationPolicy"))
    elif again not in ("IfNeeded", "Never"):
        problems.append(unsupported_value("spec.reinvocationPolicy", again, ("IfNeeded", "Never")))
    return problems


def _immutable_operations(spec: Obj) -> Iterator[FieldProblem]:
    field = "spec.matchConstraints.resourceRules.operations"
    for rule in dig(spec, "matchConstraints", "resourceRules", default=[]):
        for operation in rule.get("operations") or ():
            if operation not in _MUTABLE:
                yield unsupported_value(field, operation, _MUTABLE)


def _policy_problems(spec: Obj) -> Iterator[FieldProblem]:
    if spec.get("failurePolicy") not in FAILURE_POLICIES:
        yield unsupported_value("spec.failurePolicy", spec.get("failurePolicy"), FAILURE_POLICIES)
    kind = spec.get("paramKind")
    if kind is not None:
        yield from (required_value(f"spec.paramKind.{name}") for name in ("apiVersion", "kind") if not kind.get(name))
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield required_value("spec.matchConstraints")
    else:
        if not constraints.get("resourceRules"):
            yield required_value("spec.matchConstraints.resourceRules")
        yield from _resources_problems(constraints, "spec.matchConstraints")
    plain = Scope(params=bool(kind))
    yield from condition_problems(spec.get("matchConditions") or [], "spec.matchConditions", plain)
    yield from _variable_problems(spec)


def _resources_problems(resources: Obj, field: str) -> Iterator[FieldProblem]:
    for name in ("resourceRules", "excludeResourceRules"):
        for place, rule in enumerate(resources.get(name) or ()):
            yield from rule_problems(rule, f"{field}.{name}[{place}]")


def _variable_problems(spec: Obj) -> Iterator[FieldProblem]:
    seen: set[str] = set()
    for place, variable in enumerate(spec.get("variables") or ()):
        field, name = f"spec.variables[{place}]", str(variable.get("name") or "")
        if not name:
            yield required_value(f"{field}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name):
            yield invalid_value(f"{field}.name", name, "must be a valid CEL identifier")
        elif name in seen:
            yield duplicate_value(f"{field}.name", name)
        seen.add(name)
        scope, told = scope_of(spec, before=place), "expression is not specified"
        yield from expression_problems(variable.get("expression"), f"{field}.expression", (), scope, told)


def _validation_problems(validation: Obj, field: str, spec: Obj) -> Iterator[FieldProblem]:
    expression, message = str(validation.get("expression") or ""), str(validation.get("message") or "")
    told = "expression is not specified"
    yield from expression_problems(expression, f"{field}.expression", ("BOOL",), scope_of(spec), told)
    if validation.get("messageExpression"):
        scope = scope_of(spec, authorizer=False)
        at = f"{field}.messageExpression"
        yield from expression_problems(validation["messageExpression"], at, ("STRING",), scope)
    if message and not message.strip():
        yield invalid_value(f"{field}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip():
        yield invalid_value(f"{field}.message", message, "must not contain line breaks")
    elif "\n" in expression.strip() and not message:
        yield required_value(f"{field}.message", "message must be specified if expression contains line breaks")
    if validation.get("reason") not in (None, *_REASONS):
        yield unsupported_value(f"{field}.reason", validation["reason"], _REASONS)


def _mutation_problems(mutation: Obj, field: str, spec: Obj) -> Iterator[FieldProblem]:
    kind = mutation.get("patchType")
    names = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}
    if not kind:
        yield required_value(f"{field}.patchType")
    elif kind not in names:
        yield unsupported_value(f"{field}.patchType", kind, tuple(sorted(names)))
    else:
        wanted = names[kind]
        other = next(one for one in names.values() if one != wanted)
        if mutation.get(wanted) is None:
            yield required_value(f"{field}.{wanted}", f"must be specified when patchType is {kind}")
        else:
            source = dig(mutation, wanted, "expression")
            gives = JSON_PATCH if kind == "JSONPatch" else APPLY_CONFIGURATION
            yield from expression_problems(source, f"{field}.{wanted}.expression", (gives,), scope_of(spec))
        if mutation.get(other) is not None:
            told = f"must not be specified when patchType is {kind}"
            yield invalid_value(f"{field}.{other}", f"{{{other}}}", told)


def _validate_binding(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec = obj["spec"]
    problems = [] if spec.get("policyName") else [required_value("spec.policyName")]
    problems += _reference_problems(spec.get("paramRef"))
    problems += _resources_problems(spec.get("matchResources") or {}, "spec.matchResources")
    if obj.get("kind") == "ValidatingAdmissionPolicyBinding":
        problems += _action_problems(spec.get("validationActions") or [])
    return problems


def _reference_problems(reference: Obj | None) -> Iterator[FieldProblem]:
    if reference is None:
        return
    field = "spec.paramRef"
    name, selector = reference.get("name"), reference.get("selector")
    if name and selector is not None:
        yield from (forbidden_value(f"{field}.{one}", "name and selector are mutually exclusive")
                    for one in ("name", "selector"))  # fmt: skip
    elif not name and selector is None:
        yield required_value(field, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if action is None:
        yield required_value(f"{field}.parameterNotFoundAction")
    elif action not in ("Deny", "Allow"):
        yield unsupported_value(f"{field}.parameterNotFoundAction", action, ("Deny", "Allow"))


def _action_problems(actions: list[str]) -> Iterator[FieldProblem]:
    field = "spec.validationActions"
    for place, action in enumerate(actions):
        if action not in _ACTIONS:
            yield unsupported_value(f"{field}[{place}]", action, _ACTIONS)
        if action in actions[:place]:
            yield duplicate_value(f"{field}[{place}]", action)
    if "Deny" in actions and "Warn" in actions:
        told = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        yield invalid_value(field, actions, told)
    if not actions:
        yield required_value(field, "at least one validation action is required")


VALIDATING_POLICY = Strategy(_default_policy, _validate_validating, counts_generation=True, new_status={})
MUTATING_POLICY = Strategy(_default_policy, _validate_mutating, counts_generation=True)
BINDING = Strategy(_default_binding, _validate_binding, counts_generation=True)
