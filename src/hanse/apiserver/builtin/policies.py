"""Disruption budgets, roles and bindings, priorities and leases."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, forbidden_value, invalid_value, required_value, unsupported_value
from hanse.kube.manifest import Obj
from hanse.kube.selectors import qualified_name_problems

_RBAC = "rbac.authorization.k8s.io"
_HIGHEST_PRIORITY = 1_000_000_000
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def _validate_budget(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec = obj.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        told = "minAvailable and maxUnavailable cannot be both set"
        shown = {
            "MinAvailable": spec["minAvailable"],
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec["maxUnavailable"],
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        return [invalid_value("spec", shown, told)]
    problems = []
    for name in ("minAvailable", "maxUnavailable"):
        problems += field_rules.share(f"spec.{name}", spec.get(name), at_most_all=True)
    problems += field_rules.label_selector(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        allowed = ("AlwaysAllow", "IfHealthyBudget")
        problems += field_rules.one_of("spec.unhealthyPodEvictionPolicy", policy, allowed)
    return problems


def _default_binding(obj: Obj) -> None:
    role = obj.get("roleRef")
    if isinstance(role, dict) and not role.get("apiGroup"):
        role["apiGroup"] = _RBAC
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _RBAC)


def _validate_binding(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    role = obj.get("roleRef") or {}
    problems = []
    if role.get("apiGroup") != _RBAC:
        problems.append(unsupported_value("roleRef.apiGroup", role.get("apiGroup") or "", (_RBAC,)))
    if role.get("kind") not in ("Role", "ClusterRole"):
        problems.append(unsupported_value("roleRef.kind", role.get("kind") or "", ("Role", "ClusterRole")))
    if not role.get("name"):
        problems.append(required_value("roleRef.name"))
    for place, subject in enumerate(obj.get("subjects") or ()):
        if not subject.get("name"):
            problems.append(required_value(f"subjects[{place}].name"))
        if subject.get("kind") not in ("User", "Group", "ServiceAccount"):
            allowed = ("ServiceAccount", "User", "Group")
            problems.append(unsupported_value(f"subjects[{place}].kind", subject.get("kind") or "", allowed))
        if subject.get("kind") == "ServiceAccount" and subject.get("apiGroup"):
            problems.append(unsupported_value(f"subjects[{place}].apiGroup", subject["apiGroup"], ("",)))
    if old is not None and role != old.get("roleRef"):
        shown = {"APIGroup": role.get("apiGroup"), "Kind": role.get("kind"), "Name": role.get("name")}
        problems.append(invalid_value("roleRef", shown, "cannot change roleRef"))
    return problems


def _default_role(obj: Obj) -> None:
    obj.setdefault("rules", None)


def _validate_role(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    problems = []
    for place, rule in enumerate(obj.get("rules") or ()):
        problems += _rule_problems(rule, f"rules[{place}]", namespaced=obj.get("kind") == "Role")
    aggregation = obj.get("aggregationRule")
    if aggregation is not None:
        problems += _aggregation_problems(aggregation.get("clusterRoleSelectors") or [])
    return problems


def _rule_problems(rule: Obj, field: str, *, namespaced: bool) -> list[FieldProblem]:
    problems = []
    if not rule.get("verbs"):
        problems.append(required_value(f"{field}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs") or []
    if urls:
        if namespaced:
            told = "namespaced rules cannot apply to non-resource URLs"
            problems.append(invalid_value(f"{field}.nonResourceURLs", urls, told))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            told = "rules cannot apply to both regular resources and non-resource URLs"
            problems.append(invalid_value(f"{field}.nonResourceURLs", urls, told))
        return problems
    if not rule.get("apiGroups"):
        problems.append(required_value(f"{field}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        problems.append(required_value(f"{field}.resources", "resource rules must supply at least one resource"))
    return problems


def _aggregation_problems(selectors: list[Obj]) -> list[FieldProblem]:
    field = "aggregationRule.clusterRoleSelectors"
    if not selectors:
        told = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        return [required_value(field, told)]
    problems = []
    for place, selector in enumerate(selectors):
        wrong = [
            invalid_value(f"{field}[{place}].matchLabels", name, told)
            for name in selector.get("matchLabels") or {}
            for told in qualified_name_problems(name)
        ]
        if wrong:
            problems += [*wrong, invalid_value(f"{field}[{place}]", None, "invalid label selector.")]
    return problems


def _default_priority_class(obj: Obj) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")
    obj.setdefault("value", 0)


def _validate_priority_class(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    name = str(obj["metadata"].get("name") or "")
    problems = []
    if old is not None:
        if obj.get("value") != old.get("value"):
            problems.append(forbidden_value("value", "may not be changed in an update."))
        return problems + field_rules.unchanged(obj, old, "", "preemptionPolicy")
    if name.startswith("system-"):
        if name not in _SYSTEM_CLASSES:
            told = (
                "priority class names with 'system-' prefix are reserved for system use only. "
                f"error: {name} is not a known system priority class"
            )
            problems.append(forbidden_value("metadata.name", told))
    elif obj["value"] > _HIGHEST_PRIORITY:
        told = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        problems.append(forbidden_value("value", told))
    allowed = ("PreemptLowerPriority", "Never")
    return problems + field_rules.one_of("preemptionPolicy", obj.get("preemptionPolicy"), allowed)


def _validate_lease(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec: dict[str, Any] = obj.get("spec") or {}
    seconds, moves = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    problems = []
    if seconds is not None and seconds <= 0:
        problems.append(invalid_value("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if moves is not None and moves < 0:
        problems.append(invalid_value("spec.leaseTransitions", moves, "must be greater than or equal to 0"))
    return problems


def _with_spec(obj: Obj) -> None:
    obj.setdefault("spec", {})


BUDGET = Strategy(
    _with_spec,
    _validate_budget,
    counts_generation=True,
    new_status={"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
)
BINDING = Strategy(_default_binding, _validate_binding, name_rule="path")
ROLE = Strategy(_default_role, _validate_role, name_rule="path")
PRIORITY_CLASS = Strategy(_default_priority_class, _validate_priority_class, counts_generation=True)
LEASE = Strategy(_with_spec, _validate_lease, create_on_update=True)
