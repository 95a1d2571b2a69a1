"""ValidatingAdmissionPolicy: CEL that says no, warns or only leaves a note."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hanse.apiserver import status
from hanse.apiserver.admission.attributes import Attributes
from hanse.apiserver.admission.audit import AuditTrail
from hanse.apiserver.admission.conditions import Activation, conditions_hold
from hanse.apiserver.admission.matching import match_binding, match_policy, namespace_object
from hanse.apiserver.admission.params import ConfigurationError, params_of
from hanse.apiserver.admission.variables import bind_variables
from hanse.apiserver.cel.admission_expressions import Scope, expression, scope_of
from hanse.apiserver.core import Call
from hanse.kube.cel.rule import EngineMissing, EvaluationError
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, name_of

_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}
_MESSAGE_LIMIT = 5 * 1024


@dataclass(frozen=True, slots=True)
class _Denial:
    """One expression's no: of which policy and binding, and why."""

    policy: str
    binding: str
    message: str
    reason: str = "Invalid"
    expression: int = 0
    """Which of the policy's validations it was."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one evaluation of a policy led to: denials by its validations, and by annotations that failed."""

    denials: list[_Denial]
    unannotated: list[_Denial]


def validate_by_policies(call: Call, attributes: Attributes) -> None:
    """Ask every policy that is bound; raises the first denial, warns where a binding only warns."""
    core = call.core
    policies = core.hooks.configurations(core.storage, core.hub, "validatingadmissionpolicies")
    denials: list[_Denial] = []
    trail = AuditTrail()
    for policy in policies:
        try:
            matched = match_policy(core, policy["spec"].get("matchConstraints") or {}, attributes)
            if matched is not None:
                denials += _bound(call, policy, matched, attributes, trail)
        except ConfigurationError as error:
            denials += _misconfigured(policy, "", f"failed to configure policy: {error}")
    trail.publish(attributes)
    if denials:
        raise _refusal(attributes, denials[0])


def _bound(call: Call, policy: Obj, matched: Attributes, asked: Attributes, trail: AuditTrail) -> Iterator[_Denial]:
    core = call.core
    bindings = core.hooks.configurations(core.storage, core.hub, "validatingadmissionpolicybindings")
    for binding in bindings:
        spec = binding["spec"]
        if spec.get("policyName") != name_of(policy) or not match_binding(core, spec.get("matchResources"), asked):
            continue
        try:
            params = params_of(core, policy, binding, asked.namespace)
        except ConfigurationError as error:
            yield from _misconfigured(policy, name_of(binding), f"failed to configure binding: {error}")
            continue
        actions: list[str] = spec.get("validationActions") or []
        for param in params:
            outcome = _evaluated(call, policy, binding, matched, asked, param, trail)
            for denial in outcome.denials:
                if "Deny" in actions:
                    yield denial
                if "Warn" in actions:
                    told = f"Validation failed for ValidatingAdmissionPolicy '{denial.policy}' with binding"
                    call.warnings.append(f"{told} '{denial.binding}': {denial.message}")
                if "Audit" in actions:
                    trail.fail(denial.policy, denial.binding, denial.message, denial.expression, actions)
            yield from outcome.unannotated


def _misconfigured(policy: Obj, binding: str, message: str) -> list[_Denial]:
    fails = policy["spec"].get("failurePolicy") != "Ignore"
    return [_Denial(name_of(policy), binding, message)] if fails else []


def _evaluated(
    call: Call,
    policy: Obj,
    binding: Obj,
    matched: Attributes,
    asked: Attributes,
    param: Obj | None,
    trail: AuditTrail,
) -> _Outcome:
    spec = policy["spec"]
    fails = spec.get("failurePolicy") != "Ignore"
    named = name_of(policy), name_of(binding)
    within = matched.namespace if not matched.is_namespace else ""
    namespace = namespace_object(call.core, within) if within else None
    activation = Activation(call.core, matched, asked, namespace)
    activation.bind(params=param)
    try:
        plain = Scope(params=bool(spec.get("paramKind")))
        if not conditions_hold(spec.get("matchConditions") or [], activation, plain):
            return _Outcome([], [])
        bind_variables(activation, spec)
    except (EvaluationError, EngineMissing) as error:
        return _Outcome([_Denial(*named, str(error))] if fails else [], [])
    denials = _denials(spec, activation, named, fails=fails)
    return _Outcome(denials, _annotated(spec, activation, named, trail, fails=fails))


def _denials(spec: Obj, activation: Activation, named: tuple[str, str], *, fails: bool) -> list[_Denial]:
    found = []
    for place, validation in enumerate(spec.get("validations") or ()):
        try:
            rule = expression(str(validation["expression"]), ("BOOL",), scope_of(spec))
            if activation.evaluate(rule) is True:
                continue
        except EvaluationError as error:
            if fails:
                found.append(_Denial(*named, str(error), expression=place))
            continue
        message = _message(validation, activation, spec)
        found.append(_Denial(*named, message, str(validation.get("reason") or "Invalid"), place))
    return found


def _annotated(
    spec: Obj, activation: Activation, named: tuple[str, str], trail: AuditTrail, *, fails: bool
) -> list[_Denial]:
    """Evaluate a policy's auditAnnotations; returns the denials that those lead to which fail."""
    annotations: list[Obj] = spec.get("auditAnnotations") or []
    budget = activation.new_budget() if annotations else None
    failed = []
    for annotation in annotations:
        rule = expression(str(annotation["valueExpression"]), ("STRING", "NULL"), scope_of(spec))
        try:
            value = activation.evaluate(rule, budget)
        except EvaluationError as error:
            if fails:
                failed.append(_Denial(*named, str(error)))
            continue
        if isinstance(value, str) and value.strip():
            trail.annotate(named[0], str(annotation["key"]), value.strip())
    return failed


def _message(validation: Obj, activation: Activation, spec: Obj) -> str:
    source = validation.get("messageExpression")
    if source:
        rule = expression(str(source), ("STRING",), scope_of(spec, authorizer=False))
        try:
            told = activation.evaluate(rule)
        except EvaluationError:
            told = ""
        told = told.strip() if isinstance(told, str) else ""
        if told and "\n" not in told and len(told.encode()) <= _MESSAGE_LIMIT:
            return told
    given = str(validation.get("message") or "").strip()
    return given or f"failed expression: {str(validation['expression']).strip()}"


def _refusal(attributes: Attributes, denial: _Denial) -> ApiError:
    by = f"ValidatingAdmissionPolicy '{denial.policy}'"
    if denial.binding:
        by += f" with binding '{denial.binding}'"
    message = f"{by} denied request: {denial.message}"
    told = status.forbidden(attributes.served.resource, attributes.name, message, [{"message": message}])
    code = _CODES.get(denial.reason, 422)
    return status.failure(code, denial.reason, told.message, told.status["details"])
