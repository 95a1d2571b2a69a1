"""Events, which two groups serve under different field names from one storage."""

from __future__ import annotations

from typing import Any

from hanse.apiserver.builtin.strategy import Strategy
from hanse.apiserver.status import FieldProblem, invalid_value
from hanse.kube.manifest import Obj, dig

# core/v1 name → events.k8s.io/v1 name
_RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK = {new: old for old, new in _RENAMED.items()}


def to_core(obj: Obj) -> Obj:
    """Return an events.k8s.io/v1 Event as core/v1 writes it."""
    return {_BACK.get(name, name): value for name, value in obj.items()}


def from_core(obj: Obj) -> Obj:
    """Return a core/v1 Event as events.k8s.io/v1 writes it."""
    return {_RENAMED.get(name, name): value for name, value in obj.items()}


def _defaults(obj: Obj) -> None:
    obj.setdefault("involvedObject", {})
    obj.setdefault("source", {})
    for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
        obj.setdefault(name, None)
    obj.setdefault("reportingComponent", "")
    obj.setdefault("reportingInstance", "")


def _validate(obj: Obj, old: Obj | None) -> list[FieldProblem]:  # noqa: ARG001 - the shape of every rule
    about, namespace = dig(obj, "involvedObject", "namespace", default=""), obj["metadata"].get("namespace")
    if about and about != namespace:
        return [invalid_value("involvedObject.namespace", about, "does not match event.namespace")]
    if not about and namespace != "default":
        return [invalid_value("involvedObject.namespace", about, "does not match event.namespace")]
    return []


def _field(*path: str) -> Any:
    return lambda obj: str(dig(obj, *path, default=""))


_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
CORE_EVENT = Strategy(
    _defaults,
    _validate,
    create_on_update=True,
    selectable={
        **{f"involvedObject.{name}": _field("involvedObject", name) for name in _ABOUT},
        "reason": _field("reason"),
        "reportingComponent": _field("reportingComponent"),
        "source": lambda obj: str(dig(obj, "source", "component", default="") or obj.get("reportingComponent") or ""),
        "type": _field("type"),
    },
)
EVENT = Strategy(
    create_on_update=True,
    selectable={
        **{f"regarding.{name}": _field("involvedObject", name) for name in _ABOUT},
        "reason": _field("reason"),
        "reportingController": _field("reportingComponent"),
        "type": _field("type"),
    },
)
