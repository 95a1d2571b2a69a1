"""HorizontalPodAutoscalers: stored as v2, served as v1 too."""

from __future__ import annotations

from hanse.apiserver import objects
from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, forbidden_value, invalid_value, required_value, unsupported_value
from hanse.kube.manifest import Obj, dig

_CPU = "cpu"
_LONGEST_WINDOW_SECONDS = 3600
# The field in which a metric of each type describes itself.
_METRICS = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}


def _is_cpu_utilization(metric: Obj) -> bool:
    return metric.get("type") == "Resource" and dig(metric, "resource", "name") == _CPU


def from_v2(obj: Obj) -> Obj:
    """Return an autoscaler as autoscaling/v1 shows it."""
    shown = objects.copy(obj)
    spec = shown.get("spec") or {}
    for metric in spec.pop("metrics", None) or ():
        if _is_cpu_utilization(metric):
            share = dig(metric, "resource", "target", "averageUtilization")
            if share is not None:
                spec["targetCPUUtilizationPercentage"] = share
    spec.pop("behavior", None)
    told = shown.get("status") or {}
    for metric in told.pop("currentMetrics", None) or ():
        if _is_cpu_utilization(metric):
            told["currentCPUUtilizationPercentage"] = dig(metric, "resource", "current", "averageUtilization")
    told.pop("conditions", None)
    told.setdefault("currentReplicas", 0)
    return shown


def to_v2(obj: Obj) -> Obj:
    """Return an autoscaling/v1 autoscaler as it is stored."""
    stored = objects.copy(obj)
    spec = stored.get("spec") or {}
    share = spec.pop("targetCPUUtilizationPercentage", None)
    if share is not None:
        target = {"type": "Utilization", "averageUtilization": share}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": _CPU, "target": target}}]
    told = stored.get("status") or {}
    current = told.pop("currentCPUUtilizationPercentage", None)
    if current is not None:
        used = {"averageUtilization": current, "averageValue": "0"}
        told["currentMetrics"] = [{"type": "Resource", "resource": {"name": _CPU, "current": used}}]
    return stored


def _defaults(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("minReplicas") and spec.get("minReplicas") != 0:
        spec["minReplicas"] = 1
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": _CPU, "target": target}}]
    _default_behavior(spec.get("behavior"))


def _default_behavior(behavior: Obj | None) -> None:
    if not behavior:
        return
    up = [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}]
    down = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
    if isinstance(behavior.get("scaleUp"), dict):
        behavior["scaleUp"].setdefault("stabilizationWindowSeconds", 0)
        behavior["scaleUp"].setdefault("selectPolicy", "Max")
        behavior["scaleUp"].setdefault("policies", up)
    if isinstance(behavior.get("scaleDown"), dict):
        behavior["scaleDown"].setdefault("selectPolicy", "Max")
        behavior["scaleDown"].setdefault("policies", down)


def _validate(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    spec = obj.get("spec") or {}
    problems = []
    least, most = spec.get("minReplicas", 1), spec.get("maxReplicas")
    if least < 1:
        problems.append(invalid_value("spec.minReplicas", least, "must be greater than or equal to 1"))
    if not most or most < 1:
        problems.append(required_value("spec.maxReplicas", "must be set and greater than 0"))
    if (most or 0) < least:
        problems.append(invalid_value("spec.maxReplicas", most or 0, "must be greater than or equal to `minReplicas`"))
    target = spec.get("scaleTargetRef") or {}
    problems += [required_value(f"spec.scaleTargetRef.{name}") for name in ("kind", "name") if not target.get(name)]
    if not target.get("apiVersion"):
        told = "apiVersion must specify API group"
        problems.append(invalid_value("spec.scaleTargetRef.apiVersion", "", told))
    metrics = spec.get("metrics") or []
    for place, metric in enumerate(metrics):
        problems += _metric_problems(metric, f"spec.metrics[{place}]")
    if least == 0 and not any(one.get("type") in ("Object", "External") for one in metrics):
        told = "must specify at least one Object or External metric to support scaling to zero replicas"
        problems.append(forbidden_value("spec.metrics", told))
    for name in ("scaleUp", "scaleDown"):
        problems += _scaling_problems(dig(spec, "behavior", name, default={}), f"spec.behavior.{name}")
    return problems


def _metric_problems(metric: Obj, field: str) -> list[FieldProblem]:
    kind = metric.get("type")
    if not kind:
        return [required_value(f"{field}.type", "must specify a metric source type")]
    if kind not in _METRICS:
        return [unsupported_value(f"{field}.type", kind, sorted(_METRICS))]
    source = metric.get(_METRICS[kind])
    if not isinstance(source, dict):
        told = "must populate information for the given metric source"
        return [required_value(f"{field}.{_METRICS[kind]}", told)]
    return _resource_problems(source, f"{field}.resource") if kind == "Resource" else []


def _resource_problems(source: Obj, field: str) -> list[FieldProblem]:
    problems = [] if source.get("name") else [required_value(f"{field}.name", "must specify a resource name")]
    target, at = source.get("target") or {}, f"{field}.target"
    kind = target.get("type") or ""
    if not kind:
        problems.append(required_value(f"{at}.type", "must specify a metric target type"))
    if kind not in ("Utilization", "Value", "AverageValue"):
        problems.append(invalid_value(f"{at}.type", kind, "must be either Utilization, Value, or AverageValue"))
    share, amount = target.get("averageUtilization"), target.get("averageValue")
    if share is not None and share < 1:
        problems.append(invalid_value(f"{at}.averageUtilization", share, "must be greater than 0"))
    if share is None and amount is None:
        told = "must set either a target raw value or a target utilization"
        problems.append(required_value(f"{at}.averageUtilization", told))
    return problems


def _scaling_problems(rules: Obj, field: str) -> list[FieldProblem]:
    problems = field_rules.counts(rules, field, "stabilizationWindowSeconds")
    window, choice = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None and window > _LONGEST_WINDOW_SECONDS:
        told = f"must be less than or equal to {_LONGEST_WINDOW_SECONDS}"
        problems.append(invalid_value(f"{field}.stabilizationWindowSeconds", window, told))
    if choice is not None:
        problems += field_rules.one_of(f"{field}.selectPolicy", choice, ("Disabled", "Max", "Min"))
    for place, policy in enumerate(rules.get("policies") or ()):
        at = f"{field}.policies[{place}]"
        problems += field_rules.one_of(f"{at}.type", policy.get("type"), ("Percent", "Pods"))
        problems += [
            invalid_value(f"{at}.{name}", policy.get(name) or 0, "must be greater than zero")
            for name in ("value", "periodSeconds")
            if (policy.get(name) or 0) <= 0
        ]
    return problems


V2 = Strategy(_defaults, _validate, new_status={"desiredReplicas": 0, "currentMetrics": None})
V1 = Strategy()
