"""The spec of a placement policy into what is asked of placement; every fault is a sentence that names the field."""

from __future__ import annotations

from typing import Any

from hanse.kube.manifest import Obj
from hanse.placement.ask import (
    FAIL_BACK_SECONDS,
    Aggregated,
    ByCapacity,
    ByFreeCapacity,
    ClusterTerm,
    Division,
    Duplicated,
    Equally,
    Failover,
    Group,
    Override,
    Placement,
    Rollout,
    Spread,
    Weighted,
    WeightRule,
)
from hanse.placement.candidate import Toleration
from hanse.placement.cluster_selector import ClusterSelector, SelectorError
from hanse.placement.planner import Preference, Preferences

_FIXED_PATHS = frozenset(
    {"", "/metadata", "/metadata/name", "/metadata/namespace", "/metadata/generateName", "/kind", "/apiVersion"}
)


class PolicyError(ValueError):
    """What is wrong with a policy, said in one sentence."""


def placement_of(spec: Obj) -> Placement:
    """Read everything that a policy asks; raises PolicyError."""
    return Placement(
        clusters=term_of(spec.get("clusters"), "spec.clusters"),
        groups=tuple(
            Group(_text(entry.get("name"), f"{where}.name"), term_of(entry.get("clusters"), f"{where}.clusters"))
            for where, entry in _entries(spec.get("groups"), "spec.groups")
        ),
        tolerations=tuple(
            _toleration(entry, where) for where, entry in _entries(spec.get("tolerations"), "spec.tolerations")
        ),
        spread=_spreads(spec.get("spread")),
        division=_division(_object(spec.get("division"), "spec.division")),
        failover=_failover(_object(spec.get("failover"), "spec.failover")),
        rollout=_rollout(spec.get("rollout")),
    )


def overrides_of(spec: Obj) -> tuple[Override, ...]:
    """Read what some clusters get differently; raises PolicyError."""
    return tuple(
        Override(
            term_of(entry.get("clusters"), f"{where}.clusters"),
            tuple(_operation(patch, inner) for inner, patch in _entries(entry.get("patches"), f"{where}.patches")),
        )
        for where, entry in _entries(spec.get("overrides"), "spec.overrides")
    )


def term_of(value: Any, where: str) -> ClusterTerm:
    """Read a set of clusters; raises PolicyError."""
    fields = _object(value, where)
    names = fields.get("names")
    return ClusterTerm(
        selector_of(fields.get("selector"), f"{where}.selector"),
        None if names is None else _texts(names, f"{where}.names"),
        _texts(fields.get("exclude") or [], f"{where}.exclude"),
    )


def selector_of(value: Any, where: str) -> ClusterSelector:
    """Read matchLabels and matchExpressions; raises PolicyError."""
    fields = _object(value, where)
    labels = _object(fields.get("matchLabels"), f"{where}.matchLabels")
    expressions = fields.get("matchExpressions") or []
    if not isinstance(expressions, list):
        raise PolicyError(f"{where}.matchExpressions must be a list")
    equal = [{"key": key, "operator": "=", "values": [label]} for key, label in sorted(labels.items())]
    try:
        return ClusterSelector.parse([*equal, *expressions])
    except SelectorError as error:
        raise PolicyError(f"{where}: {error}") from error


def _toleration(entry: Obj, where: str) -> Toleration:
    operator = entry.get("operator") or "Equal"
    if operator not in ("Equal", "Exists"):
        raise PolicyError(f"{where}.operator: {operator!r} is neither Equal nor Exists")
    seconds = entry.get("tolerationSeconds")
    return Toleration(
        _text(entry.get("key") or "", f"{where}.key"),
        "Exists" if operator == "Exists" else "Equal",
        _text(entry.get("value") or "", f"{where}.value"),
        _text(entry.get("effect") or "", f"{where}.effect"),
        None if seconds is None else float(_number(seconds, f"{where}.tolerationSeconds")),
    )


def _spreads(value: Any) -> tuple[Spread, ...]:
    found = []
    for where, entry in _entries(value, "spec.spread"):
        spread = Spread(
            _text(entry.get("by"), f"{where}.by"),
            _number(entry.get("minGroups", 1), f"{where}.minGroups"),
            _optional_number(entry.get("maxGroups"), f"{where}.maxGroups"),
            _optional_number(entry.get("maxSkew"), f"{where}.maxSkew"),
        )
        if spread.max_groups is not None and spread.max_groups < max(1, spread.min_groups):
            raise PolicyError(f"{where}.maxGroups must be at least 1 and not below minGroups")
        found.append(spread)
    if sum(spread.max_skew is not None for spread in found) > 1:
        raise PolicyError("spec.spread: only one constraint may have a maxSkew")
    return tuple(found)


def _division(fields: Obj) -> Division:
    match fields.get("type", "Equal"):
        case "Equal":
            return Equally()
        case "Duplicated":
            return Duplicated()
        case "Capacity":
            return ByCapacity()
        case "FreeCapacity":
            return ByFreeCapacity()
        case "Aggregated":
            return Aggregated()
        case "Weighted":
            return _weighted(fields)
        case "Preferences":
            return _preferences(fields)
        case other:
            raise PolicyError(f"spec.division.type: {other!r} is no division")


def _weighted(fields: Obj) -> Weighted:
    rules = tuple(
        WeightRule(term_of(entry.get("clusters"), f"{where}.clusters"), _number(entry.get("weight"), f"{where}.weight"))
        for where, entry in _entries(fields.get("weights"), "spec.division.weights")
    )
    if not rules:
        raise PolicyError("spec.division.weights: type Weighted needs at least one entry")
    return Weighted(rules)


def _preferences(fields: Obj) -> Preferences:
    where = "spec.division.clusters"
    clusters = {}
    for name, value in _object(fields.get("clusters"), where).items():
        entry = _object(value, f"{where}[{name}]")
        clusters[name] = Preference(
            _number(entry.get("weight", 0), f"{where}[{name}].weight"),
            _number(entry.get("minReplicas", 0), f"{where}[{name}].minReplicas"),
            _optional_number(entry.get("maxReplicas"), f"{where}[{name}].maxReplicas"),
        )
    if not clusters:
        raise PolicyError(f"{where}: type Preferences needs at least one entry")
    return Preferences(clusters, fields.get("rebalance") is True)


def _failover(fields: Obj) -> Failover:
    after = fields.get("afterSeconds", 0)
    never, always = fields.get("never") is True, fields.get("always") is True
    if never and always:
        raise PolicyError("spec.failover: never and always exclude each other")
    steady = fields.get("failBackAfterSeconds")
    return Failover(
        None if never else float(_number(after, "spec.failover.afterSeconds")),
        fields.get("failBack") is not False,
        FAIL_BACK_SECONDS if steady is None else float(_number(steady, "spec.failover.failBackAfterSeconds")),
        always,
        _number(fields.get("spareClusters", 0), "spec.failover.spareClusters"),
    )


def _rollout(value: Any) -> Rollout | None:
    if value is None:
        return None
    fields = _object(value, "spec.rollout")
    order = _entries(fields.get("order"), "spec.rollout.order")
    gate = fields.get("gate", "Ready")
    if gate not in ("Ready", "Manual"):
        raise PolicyError(f"spec.rollout.gate: {gate!r} is neither Ready nor Manual")
    if gate == "Manual" and not order:
        raise PolicyError("spec.rollout.gate: Manual needs an order, between whose groups a person is asked")
    return Rollout(
        order=tuple(term_of(entry, where) for where, entry in order),
        max_clusters=_at_least_one(fields.get("maxClusters"), "spec.rollout.maxClusters"),
        max_percent=_at_least_one(fields.get("maxPercent"), "spec.rollout.maxPercent"),
        manual=gate == "Manual",
        pause_seconds=float(_number(fields.get("pauseSeconds", 0), "spec.rollout.pauseSeconds")),
    )


def _operation(patch: Obj, where: str) -> Obj:
    path = _text(patch.get("path"), f"{where}.path")
    if path.rstrip("/") in _FIXED_PATHS:
        raise PolicyError(f"{where}.path: {path!r} is what an object is called and cannot be overridden")
    operation = patch.get("op") or "replace"
    if operation not in ("add", "remove", "replace"):
        raise PolicyError(f"{where}.op: {operation!r} is none of add, remove and replace")
    return {"op": operation, "path": path} | ({"value": patch.get("value")} if operation != "remove" else {})


def _entries(value: Any, where: str) -> list[tuple[str, Obj]]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise PolicyError(f"{where} must be a list")
    return [(f"{where}[{place}]", _object(entry, f"{where}[{place}]")) for place, entry in enumerate(value)]


def _object(value: Any, where: str) -> Obj:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise PolicyError(f"{where} must be an object")
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise PolicyError(f"{where} must be a list of names")
    return tuple(value)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise PolicyError(f"{where} must be a text, not {value!r}")
    return value


def _number(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise PolicyError(f"{where} must be a whole number that is not negative, not {value!r}")
    return value


def _at_least_one(value: Any, where: str) -> int | None:
    number = _optional_number(value, where)
    if number == 0:
        raise PolicyError(f"{where} must be at least 1; leave it out to set no limit")
    return number


def _optional_number(value: Any, where: str) -> int | None:
    return None if value is None else _number(value, where)
