"""MutatingAdmissionPolicy: CEL that changes objects, by an apply configuration or by a JSON patch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hanse.apiserver import objects, status
from hanse.apiserver.admission.apply_configurations import configuration_problem
from hanse.apiserver.admission.attributes import Attributes, in_version
from hanse.apiserver.admission.conditions import Activation, conditions_hold
from hanse.apiserver.admission.matching import match_binding, match_policy, namespace_object
from hanse.apiserver.admission.params import ConfigurationError, params_of
from hanse.apiserver.admission.reinvocation import Reinvocation
from hanse.apiserver.admission.variables import bind_variables
from hanse.apiserver.admission.webhooks import Complete
from hanse.apiserver.cel.admission_expressions import Scope, expression, scope_of
from hanse.apiserver.core import Call
from hanse.kube.cel.rule import EngineMissing, EvaluationError
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, name_of
from hanse.kube.patches.field_merge import merge
from hanse.kube.patches.field_types import field_type
from hanse.kube.patches.json_patch import JsonPatchError, apply_json_patch
from hanse.kube.schemas import schema_for


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why a policy could not do its work."""

    policy: str
    binding: str
    message: str

    @property
    def told(self) -> str:
        if self.binding:
            return f"policy '{self.policy}' with binding '{self.binding}' denied request: {self.message}"
        return f'policy "{self.policy}" denied request: {self.message}'


def mutate_by_policies(call: Call, attributes: Attributes, complete: Complete, rounds: Reinvocation) -> Attributes:
    """Let every bound policy change the object in the order of their names; raises where one must and cannot."""
    core = call.core
    failures: list[_Failure] = []
    rounds.begin(attributes.object)
    bindings = core.hooks.configurations(core.storage, core.hub, "mutatingadmissionpolicybindings")
    for policy in core.hooks.configurations(core.storage, core.hub, "mutatingadmissionpolicies"):
        for binding in bindings:
            if binding["spec"].get("policyName") != name_of(policy):
                continue
            try:
                attributes = _bound(call, policy, binding, attributes, complete, rounds)
            except (ConfigurationError, EvaluationError, EngineMissing) as error:
                if policy["spec"].get("failurePolicy") != "Ignore":
                    failures.append(_Failure(name_of(policy), name_of(binding), str(error)))
    rounds.end(attributes.object)
    if failures:
        raise _refusal(attributes, failures)
    return attributes


def _bound(
    call: Call, policy: Obj, binding: Obj, attributes: Attributes, complete: Complete, rounds: Reinvocation
) -> Attributes:
    core = call.core
    matched = match_policy(core, policy["spec"].get("matchConstraints") or {}, attributes)
    if matched is None or matched.object is None:
        return attributes
    if not match_binding(core, binding["spec"].get("matchResources"), attributes):
        return attributes
    try:
        params = params_of(core, policy, binding, attributes.namespace)
    except ConfigurationError as error:
        raise ConfigurationError(f"failed to configure binding: {error}") from None
    for place, param in enumerate(params):
        key = (name_of(policy), name_of(binding), place)
        if not rounds.calls(key):
            continue
        before = attributes.object
        changed = _mutated(call, policy["spec"], matched, attributes, param)
        if changed is None:
            continue
        if changed != matched.object:
            back = in_version(core, changed, matched.served, attributes.served)
            attributes = replace(attributes, object=complete(back or {}))
            matched = replace(matched, object=in_version(core, attributes.object, attributes.served, matched.served))
        again = policy["spec"].get("reinvocationPolicy") == "IfNeeded"
        rounds.called(key, changed=attributes.object != before, again=again)
    return attributes


def _mutated(call: Call, spec: Obj, matched: Attributes, asked: Attributes, param: Obj | None) -> Obj | None:
    """Return the object as the policy wants it; None where its conditions do not hold."""
    within = matched.namespace if not matched.is_namespace else ""
    namespace = namespace_object(call.core, within) if within else None
    activation = Activation(call.core, matched, asked, namespace)
    activation.bind(params=param)
    if not conditions_hold(spec.get("matchConditions") or [], activation, Scope(params=bool(spec.get("paramKind")))):
        return None
    obj = matched.object or {}
    for mutation in spec.get("mutations") or ():
        activation.bind(object=obj)
        bind_variables(activation, spec)
        if mutation.get("patchType") == "JSONPatch":
            obj = _json_patched(activation, spec, str(mutation["jsonPatch"]["expression"]), obj)
        else:
            obj = _applied(activation, spec, str(mutation["applyConfiguration"]["expression"]), matched, obj)
    return obj


def _json_patched(activation: Activation, spec: Obj, source: str, obj: Obj) -> Obj:
    operations = activation.evaluate(expression(source, (), scope_of(spec)))
    if not isinstance(operations, list):
        raise EvaluationError("type mismatch: JSONPatchType.expression should evaluate to array")
    try:
        patched: Obj = apply_json_patch(obj, [_operation(one) for one in operations])
    except JsonPatchError as error:
        if str(error).startswith("testing value "):
            # A patch whose test fails is one that does not apply here.
            return obj
        raise EvaluationError(f"JSON Patch: {error}") from None
    return patched


def _operation(operation: Any) -> Obj:
    if not isinstance(operation, dict):
        raise EvaluationError("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
    return operation


def _applied(activation: Activation, spec: Obj, source: str, matched: Attributes, obj: Obj) -> Obj:
    config = activation.evaluate(expression(source, (), scope_of(spec)))
    if not isinstance(config, dict):
        told = type(config).__name__
        raise EvaluationError(f"unsupported return type from ApplyConfiguration expression: {told}")
    resource = matched.served.resource
    own = matched.kind == (resource.group, resource.version, resource.kind)
    kind = field_type(matched.served.schema() if own else schema_for(*matched.kind))
    problem = configuration_problem(config, kind)
    if problem:
        raise EvaluationError(f"error applying patch: {problem}")
    merged: Obj = merge(objects.copy(obj), config, kind)
    return merged


def _refusal(attributes: Attributes, failures: list[_Failure]) -> ApiError:
    causes = [{"message": failure.told} for failure in failures]
    told = status.forbidden(attributes.served.resource, attributes.name, "", causes)
    return status.failure(403, "Invalid", failures[0].told, told.status["details"])
