"""Rules of where a pod may run: selectors, affinity, spreading, tolerations."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.names import label_problems
from hanse.apiserver.status import FieldProblem, invalid_value, required_value
from hanse.kube.manifest import Obj, dig

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_EMPTY = "can not be empty"


def placement_problems(spec: Obj, field: str) -> list[FieldProblem]:
    """Check node selector, affinity and spreading."""
    problems = label_problems(spec.get("nodeSelector") or {}, f"{field}.nodeSelector")
    affinity = spec.get("affinity") or {}
    if affinity:
        problems += _node_affinity(affinity.get("nodeAffinity") or {}, f"{field}.affinity.nodeAffinity")
        for name in ("podAffinity", "podAntiAffinity"):
            problems += _pod_affinity(affinity.get(name) or {}, f"{field}.affinity.{name}")
    for place, one in enumerate(spec.get("topologySpreadConstraints") or ()):
        problems += _spread(one, f"{field}.topologySpreadConstraints[{place}]")
    return problems


def _spread(one: Obj, field: str) -> list[FieldProblem]:
    problems = []
    skew = one.get("maxSkew") or 0
    if skew <= 0:
        problems.append(invalid_value(f"{field}.maxSkew", skew, "must be greater than zero"))
    if not one.get("topologyKey"):
        problems.append(required_value(f"{field}.topologyKey", _EMPTY))
    problems += field_rules.one_of(f"{field}.whenUnsatisfiable", one.get("whenUnsatisfiable"), _UNSATISFIABLE)
    return problems + field_rules.label_selector(one.get("labelSelector"), f"{field}.labelSelector")


def _node_affinity(affinity: Obj, field: str) -> list[FieldProblem]:
    problems = []
    required = affinity.get(_REQUIRED)
    if isinstance(required, dict):
        problems += node_selector_problems(required, f"{field}.{_REQUIRED}")
    for place, one in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{field}.{_PREFERRED}[{place}]"
        problems += _weight(one, at) + _node_term(one.get("preference") or {}, f"{at}.preference")
    return problems


def node_selector_problems(selector: Obj, field: str) -> list[FieldProblem]:
    """Check a selector of nodes."""
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        return [required_value(f"{field}.nodeSelectorTerms", "must have at least one node selector term")]
    return [
        problem
        for place, term in enumerate(terms)
        for problem in _node_term(term, f"{field}.nodeSelectorTerms[{place}]")
    ]


def _node_term(term: Obj, field: str) -> list[FieldProblem]:
    problems = []
    for place, one in enumerate(term.get("matchExpressions") or ()):
        problems += _node_requirement(one, f"{field}.matchExpressions[{place}]")
    return problems


def _node_requirement(one: Obj, field: str) -> list[FieldProblem]:
    operator, values = one.get("operator"), one.get("values") or []
    problems = []
    if operator not in _NODE_OPERATORS:
        problems.append(invalid_value(f"{field}.operator", operator or "", "not a valid selector operator"))
    elif operator in ("In", "NotIn") and not values:
        told = "must be specified when `operator` is 'In' or 'NotIn'"
        problems.append(required_value(f"{field}.values", told))
    elif operator in ("Gt", "Lt") and len(values) != 1:
        told = "must be specified single value when `operator` is 'Lt' or 'Gt'"
        problems.append(required_value(f"{field}.values", told))
    return problems + field_rules.qualified(f"{field}.key", one.get("key"))


def _weight(one: Obj, field: str) -> list[FieldProblem]:
    weight = one.get("weight") or 0
    return [] if 1 <= weight <= 100 else [invalid_value(f"{field}.weight", weight, "must be in the range 1-100")]


def _pod_affinity(affinity: Obj, field: str) -> list[FieldProblem]:
    problems = []
    for place, term in enumerate(affinity.get(_REQUIRED) or ()):
        problems += _pod_term(term, f"{field}.{_REQUIRED}[{place}]")
    for place, one in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{field}.{_PREFERRED}[{place}]"
        problems += _weight(one, at) + _pod_term(dig(one, "podAffinityTerm", default={}), f"{at}.podAffinityTerm")
    return problems


def _pod_term(term: Obj, field: str) -> list[FieldProblem]:
    problems = field_rules.label_selector(term.get("labelSelector"), f"{field}.labelSelector")
    if not term.get("topologyKey"):
        problems.append(required_value(f"{field}.topologyKey", _EMPTY))
    return problems + field_rules.qualified(f"{field}.topologyKey", term.get("topologyKey"))


def toleration_problems(spec: Obj, field: str) -> list[FieldProblem]:
    """Check which taints a pod tolerates."""
    problems = []
    for place, one in enumerate(spec.get("tolerations") or ()):
        problems += _toleration(one, f"{field}.tolerations[{place}]")
    return problems


def _toleration(one: Obj, field: str) -> list[FieldProblem]:
    key, operator, effect = one.get("key"), one.get("operator") or "", one.get("effect") or ""
    problems = field_rules.qualified(f"{field}.key", key) if key else []
    if not key and operator != "Exists":
        told = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        problems.append(invalid_value(f"{field}.operator", operator, told))
    if one.get("tolerationSeconds") is not None and effect != "NoExecute":
        told = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        problems.append(invalid_value(f"{field}.effect", effect, told))
    problems += _operator(one, field, operator)
    return problems + (field_rules.one_of(f"{field}.effect", effect, _EFFECTS) if effect else [])


def _operator(one: Obj, field: str, operator: str) -> list[FieldProblem]:
    value: Any = one.get("value") or ""
    if operator == "Exists":
        told = "value must be empty when `operator` is 'Exists'"
        return [invalid_value(f"{field}.operator", value, told)] if value else []
    return field_rules.one_of(f"{field}.operator", operator, ("Equal", "Exists")) if operator else []
