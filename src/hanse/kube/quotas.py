"""What objects count for in a ResourceQuota: pure arithmetic on manifests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from hanse.kube.manifest import Obj, dig, is_deleting
from hanse.kube.quantities import Notation, format_quantity, parse_quantity

Usage = dict[str, Decimal]

# Kinds of the core group whose plain name is a resource of its own, beside `count/NAME`.
_COUNTED = ("configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", "resourcequotas", "secrets")
_COUNTED_TOO = ("services",)
_PREFIXED = ("cpu", "memory", "ephemeral-storage")
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
# The resources of which every container of a pod must say how much it wants, where a quota counts them.
_TO_BE_SAID = {
    "cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    "requests.cpu": ("requests", "cpu"),
    "requests.memory": ("requests", "memory"),
    "limits.cpu": ("limits", "cpu"),
    "limits.memory": ("limits", "memory"),
}


def usage_of(group: str, plural: str, obj: Obj) -> Usage:
    """Return what one object counts for, by the names that quotas use."""
    count = f"count/{plural}.{group}" if group else f"count/{plural}"
    usage: Usage = {count: Decimal(1)}
    if group:
        return usage
    if plural == "pods":
        return usage | ({} if _has_ended(obj) else _pod_usage(obj))
    if plural in (*_COUNTED, *_COUNTED_TOO):
        usage[plural] = Decimal(1)
    if plural == "services":
        usage |= _service_usage(obj.get("spec") or {})
    if plural == "persistentvolumeclaims":
        usage |= _claim_usage(obj.get("spec") or {})
    return usage


def total_usage(parts: Iterable[Mapping[str, Decimal]]) -> Usage:
    """Return the sum of usages."""
    found: Usage = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = found.get(name, Decimal(0)) + amount
    return found


def is_counted(quota: Obj, group: str, plural: str, obj: Obj) -> bool:
    """Tell whether a quota counts an object at all: one with scopes counts pods within all of them."""
    spec = quota.get("spec") or {}
    terms = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    terms += dig(spec, "scopeSelector", "matchExpressions", default=None) or []
    if not terms:
        return True
    return not group and plural == "pods" and all(_in_scope(term, obj) for term in terms)


def quantities_like(usage: Mapping[str, Decimal], hard: Mapping[str, Any]) -> dict[str, str]:
    """Return as much of a usage as a quota limits, written as its limits are."""
    return {name: format_quantity(usage.get(name, Decimal(0)), _notation(limit)) for name, limit in hard.items()}


def exceeded(quota: str, hard: Mapping[str, Any], used: Usage, added: Usage) -> str:
    """Return the sentence that refuses what does not fit into a quota any more, "" if it does."""
    wanted = {name: amount for name, amount in added.items() if name in hard and amount > 0}
    over = sorted(name for name, one in wanted.items() if used.get(name, Decimal(0)) + one > parse_quantity(hard[name]))
    if not over:
        return ""
    told = {name: str(hard[name]) for name in over}
    requested, had = _listed(quantities_like(wanted, told)), _listed(quantities_like(used, told))
    return f"exceeded quota: {quota}, requested: {requested}, used: {had}, limited: {_listed(told)}"


def unsaid(quota: str, hard: Mapping[str, Any], pod: Obj) -> str:
    """Return the sentence that refuses a pod that does not say how much it wants of what a quota counts."""
    if dig(pod, "spec", "resources"):
        return ""
    containers = [*(dig(pod, "spec", "initContainers") or ()), *(dig(pod, "spec", "containers") or ())]
    parts = []
    for name in sorted(set(hard) & set(_TO_BE_SAID)):
        kind, resource = _TO_BE_SAID[name]
        silent = [one["name"] for one in containers if resource not in (dig(one, "resources", kind) or {})]
        if silent:
            parts.append(f"{name} for: {','.join(sorted(silent))}")
    return f"failed quota: {quota}: must specify {'; '.join(parts)}" if parts else ""


def _has_ended(pod: Obj) -> bool:
    if dig(pod, "status", "phase") in ("Succeeded", "Failed"):
        return True
    # One whose node does not answer is counted no longer than it was given to end.
    return is_deleting(pod) and dig(pod, "status", "reason") == "NodeLost"


def _pod_usage(pod: Obj) -> Usage:
    spec = pod.get("spec") or {}
    usage: Usage = {"pods": Decimal(1)}
    for name, amount in _pod_amounts(spec, "requests").items():
        usage[f"requests.{name}"] = amount
        if name in _PREFIXED or name.startswith("hugepages-"):
            usage[name] = amount
    for name, amount in _pod_amounts(spec, "limits").items():
        usage[f"limits.{name}"] = amount
    return usage


def _pod_amounts(spec: Obj, kind: str) -> Usage:
    """Return what a pod's containers want at once, or the most that starting them needs at one time."""
    sidecars: Usage = {}
    peak: Usage = {}
    for container in spec.get("initContainers") or ():
        asked = _amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            sidecars = total_usage((sidecars, asked))
            peak = _largest(peak, sidecars)
        else:
            peak = _largest(peak, total_usage((sidecars, asked)))
    running = total_usage((sidecars, *(_amounts(container, kind) for container in spec.get("containers") or ())))
    overhead = {name: parse_quantity(amount) for name, amount in (spec.get("overhead") or {}).items()}
    return total_usage(({**_largest(peak, running), **_amounts(spec, kind)}, overhead))


def _amounts(holder: Obj, kind: str) -> Usage:
    return {name: parse_quantity(amount) for name, amount in (dig(holder, "resources", kind) or {}).items()}


def _largest(one: Usage, other: Usage) -> Usage:
    return {name: max(one.get(name, Decimal(0)), other.get(name, Decimal(0))) for name in {**one, **other}}


def _service_usage(spec: Obj) -> Usage:
    kind, ports = spec.get("type"), spec.get("ports") or []
    balanced, everywhere = kind == "LoadBalancer", kind in ("NodePort", "LoadBalancer")
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    return {
        "services.loadbalancers": Decimal(1 if balanced else 0),
        "services.nodeports": Decimal(len(ports) if everywhere else 0),
    }


def _claim_usage(spec: Obj) -> Usage:
    asked = parse_quantity(dig(spec, "resources", "requests", "storage", default="0"))
    usage: Usage = {"requests.storage": asked}
    if name := spec.get("storageClassName"):
        prefix = f"{name}.storageclass.storage.k8s.io/"
        usage |= {f"{prefix}requests.storage": asked, f"{prefix}persistentvolumeclaims": Decimal(1)}
    return usage


def _in_scope(term: Obj, pod: Obj) -> bool:
    scope = str(term.get("scopeName"))
    if scope in ("Terminating", "NotTerminating"):
        ends = dig(pod, "spec", "activeDeadlineSeconds") is not None
        return ends == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        takes_what_is_left: bool = dig(pod, "status", "qosClass") == "BestEffort"
        return takes_what_is_left == (scope == "BestEffort")
    if scope == "PriorityClass":
        return _selects(term, str(dig(pod, "spec", "priorityClassName", default="") or ""))
    return False


def _selects(term: Obj, value: str) -> bool:
    operator, values = term.get("operator"), term.get("values") or []
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    return bool(value) == (operator == "Exists")


def _notation(limit: Any) -> Notation:
    return "binary" if str(limit).endswith(_BINARY) else "decimal"


def _listed(amounts: Mapping[str, str]) -> str:
    return ",".join(f"{name}={amount}" for name, amount in sorted(amounts.items()))
