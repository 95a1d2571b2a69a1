"""HorizontalPodAutoscalers: stored as v2, served as v1 too."""

from __future__ import annotations

from hanse.apiserver import objects
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, invalid_value, required_value
from hanse.kube.manifest import Obj, dig

_CPU = "cpu"


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
    return problems


V2 = Strategy(_defaults, _validate, new_status={"desiredReplicas": 0, "currentMetrics": None})
V1 = Strategy()
