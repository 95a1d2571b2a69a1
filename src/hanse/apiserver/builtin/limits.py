"""ResourceQuotas and LimitRanges."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.builtin import field_rules
from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, duplicate_value, invalid_value
from hanse.kube.manifest import Obj, dig
from hanse.kube.quantities import parse_quantity

_COUNTED = {
    "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
}  # fmt: skip
_MEASURED = {
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.storage",
    "requests.ephemeral-storage", "limits.cpu", "limits.memory", "limits.ephemeral-storage",
}  # fmt: skip
_SCOPES = {
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
}  # fmt: skip
_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_UNQUALIFIED = "must be a standard resource type or fully qualified"


def _validate_quota(obj: Obj, old: Obj | None) -> list[FieldProblem]:
    spec = obj.get("spec") or {}
    problems = []
    for name, amount in (spec.get("hard") or {}).items():
        problems += _quota_amount(f"spec.hard[{name}]", name, amount)
    scopes = spec.get("scopes") or []
    if any(one not in _SCOPES for one in scopes):
        problems.append(invalid_value("spec.scopes", scopes, "unsupported scope"))
    if old is not None:
        problems += field_rules.unchanged(spec, old.get("spec") or {}, "spec.", "scopes")
    return problems


def _quota_amount(field: str, name: str, amount: Any) -> list[FieldProblem]:
    counted = name in _COUNTED or name.startswith(("count/", "requests.", "limits.", "hugepages-")) or "/" in name
    if not counted and name not in _MEASURED:
        told = (_UNQUALIFIED, "must be a standard resource for quota")
        return [invalid_value(field, name, one) for one in told]
    problems = []
    if parse_quantity(str(amount)) < 0:
        problems.append(invalid_value(field, amount, field_rules.AT_LEAST_ZERO))
    if (name in _COUNTED or name.startswith("count/")) and not field_rules.is_whole(amount):
        problems.append(invalid_value(field, amount, "must be an integer"))
    return problems


def _validate_limits(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    problems = []
    seen: set[str] = set()
    for place, item in enumerate(dig(obj, "spec", "limits", default=None) or ()):
        field, kind = f"spec.limits[{place}]", str(item.get("type") or "")
        if kind not in _TYPES and "/" not in kind:
            problems.append(invalid_value(f"{field}.type", kind, "must be a standard limit type or fully qualified"))
        if kind in seen:
            problems.append(duplicate_value(f"{field}.type", kind))
        seen.add(kind)
        problems += _order_problems(item, field)
    return problems


def _order_problems(item: Obj, field: str) -> list[FieldProblem]:
    names = sorted({name for kind in ("max", "min", "default", "defaultRequest") for name in item.get(kind) or {}})
    return [problem for name in names for problem in _ordered(item, field, name)]


def _ordered(item: Obj, field: str, name: str) -> list[FieldProblem]:
    least, most = dig(item, "min", name), dig(item, "max", name)
    limit, request = dig(item, "default", name), dig(item, "defaultRequest", name)
    # (where, what is shown, lower, its name, upper, its name); what upstream shows is not always what is wrong.
    pairs = (
        ("min", least, least, "min", most, "max"),
        ("defaultRequest", request, least, "min", request, "default request"),
        ("defaultRequest", request, request, "default request", most, "max"),
        ("default", least, least, "min", limit, "default"),
        ("default", most, limit, "default", most, "max"),
        ("defaultRequest", request, request, "default request", limit, "default"),
    )
    problems = []
    for where, shown, lower, below, upper, above in pairs:
        if lower is None or upper is None or parse_quantity(str(lower)) <= parse_quantity(str(upper)):
            continue
        told = f"{below} value {lower} is greater than {above} value {upper}"
        problems.append(invalid_value(f"{field}.{where}[{name}]", shown, told))
    return problems


def _default_limits(obj: Obj) -> None:
    for item in dig(obj, "spec", "limits", default=[]):
        if item.get("type") != "Container":
            continue
        limits = item.setdefault("default", {})
        for name, amount in (item.get("max") or {}).items():
            limits.setdefault(name, amount)
        requests = item.setdefault("defaultRequest", {})
        for given in (limits, item.get("min") or {}):
            for name, amount in given.items():
                requests.setdefault(name, amount)
        for name in ("default", "defaultRequest"):
            if not item[name]:
                del item[name]


QUOTA = Strategy(validate=_validate_quota, new_status={})
LIMIT_RANGE = Strategy(_default_limits, _validate_limits, create_on_update=True)
