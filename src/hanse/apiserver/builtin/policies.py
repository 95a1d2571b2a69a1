"""Networking, policy, access and storage kinds: small sets of defaults and rules each."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, forbidden_value, invalid_value, required_value, unsupported_value
from hanse.kube.manifest import Obj, dig
from hanse.kube.selectors import qualified_name_problems

_RBAC = "rbac.authorization.k8s.io"


def _validate_ingress(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec = obj.get("spec") or {}
    if not spec.get("rules") and not spec.get("defaultBackend"):
        told = "either `defaultBackend` or `rules` must be specified"
        return [invalid_value("spec", None, told)]
    problems = []
    for place, rule in enumerate(spec.get("rules") or ()):
        for at, path in enumerate(dig(rule, "http", "paths", default=[])):
            field = f"spec.rules[{place}].http.paths[{at}]"
            if not path.get("pathType"):
                problems.append(required_value(f"{field}.pathType", "pathType must be specified"))
            elif path["pathType"] != "ImplementationSpecific" and not str(path.get("path") or "").startswith("/"):
                problems.append(invalid_value(f"{field}.path", path.get("path") or "", "must be an absolute path"))
    return problems


def _default_network_policy(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


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
    return []


def _default_binding(obj: Obj) -> None:
    role = obj.get("roleRef")
    if isinstance(role, dict):
        role.setdefault("apiGroup", _RBAC)
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _RBAC)


def _validate_binding(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    role = obj.get("roleRef") or {}
    problems = []
    if role.get("kind") not in ("Role", "ClusterRole"):
        problems.append(unsupported_value("roleRef.kind", role.get("kind") or "", ("Role", "ClusterRole")))
    if not role.get("name"):
        problems.append(required_value("roleRef.name"))
    for place, subject in enumerate(obj.get("subjects") or ()):
        if not subject.get("name"):
            problems.append(required_value(f"subjects[{place}].name"))
        if subject.get("kind") not in ("User", "Group", "ServiceAccount"):
            allowed = ("Group", "ServiceAccount", "User")
            problems.append(unsupported_value(f"subjects[{place}].kind", subject.get("kind") or "", allowed))
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


def _default_storage_class(obj: Obj) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _validate_storage_class(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    problems = [] if obj.get("provisioner") else [required_value("provisioner")]
    if old is not None:
        problems += [
            invalid_value(name, obj.get(name), "field is immutable")
            for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
            if obj.get(name) != old.get(name)
        ]
    return problems


def _default_priority_class(obj: Obj) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")
    obj.setdefault("value", 0)


def _validate_priority_class(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    if old is not None and obj.get("value") != old.get("value"):
        return [forbidden_value("value", "may not be changed in an update.")]
    if old is None and obj["value"] > 1_000_000_000 and not obj["metadata"].get("name", "").startswith("system-"):
        told = "maximum allowed value of a user defined priority is 1000000000"
        return [forbidden_value("value", told)]
    return []


def _default_slice(obj: Obj) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")
    obj.setdefault("endpoints", None)
    obj.setdefault("ports", None)


def _validate_slice(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    allowed = ("FQDN", "IPv4", "IPv6")
    if not obj.get("addressType"):
        return [required_value("addressType")]
    if obj["addressType"] not in allowed:
        return [unsupported_value("addressType", obj["addressType"], allowed)]
    if old is not None and obj["addressType"] != old.get("addressType"):
        return [invalid_value("addressType", obj["addressType"], "field is immutable")]
    return []


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


INGRESS = Strategy(_with_spec, _validate_ingress, counts_generation=True, new_status={"loadBalancer": {}})
INGRESS_CLASS = Strategy(_with_spec, counts_generation=True)
NETWORK_POLICY = Strategy(_default_network_policy, counts_generation=True)
BUDGET = Strategy(
    _with_spec,
    _validate_budget,
    counts_generation=True,
    new_status={"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
)
BINDING = Strategy(_default_binding, _validate_binding, name_rule="path")
ROLE = Strategy(_default_role, _validate_role, name_rule="path")
STORAGE_CLASS = Strategy(_default_storage_class, _validate_storage_class)
PRIORITY_CLASS = Strategy(_default_priority_class, _validate_priority_class, counts_generation=True)
SLICE = Strategy(_default_slice, _validate_slice, counts_generation=True)
LEASE = Strategy(_with_spec, _validate_lease, create_on_update=True)
VOLUME_ATTACHMENT = Strategy(_with_spec, new_status={"attached": False})
