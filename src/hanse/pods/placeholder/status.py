"""From what a chaperon shows to the status of its placeholder: pure."""

from __future__ import annotations

from typing import Any

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig

# What is between the keepers of a chaperon and its placeholder.
_NOT_COPIED = frozenset({"fence", "podAnnotations"})
_STATUSES = {
    "containerStatuses": "containers",
    "initContainerStatuses": "initContainers",
    "ephemeralContainerStatuses": "ephemeralContainers",
}


def mirrored(placeholder: Obj, chaperon: Obj) -> Obj:
    """Return the status that a placeholder shall have: that of the pod that runs, of the containers that both have.

    The chaperon is a `readable` one: what else targets write is left out by then.
    """
    shown = chaperon["status"]
    status: Obj = {name: value for name, value in shown.items() if name not in _NOT_COPIED}
    for name, containers in _STATUSES.items():
        if name in status:
            known = {each["name"] for each in dig(placeholder, "spec", containers, default=None) or ()}
            status[name] = [each for each in status[name] if each["name"] in known]
    own = placeholder.get("status") or {}
    if "qosClass" in own:
        status["qosClass"] = own["qosClass"]
    status["conditions"] = _conditions(own.get("conditions") or [], status.get("conditions") or [])
    return status


def status_patch(placeholder: Obj, status: Obj) -> Obj | None:
    """Return the merge patch that brings a placeholder's status there; None where it says so already."""
    own = placeholder.get("status") or {}
    patch: dict[str, Any] = {
        name: value for name, value in status.items() if (_said(own.get(name)) or None) != (_said(value) or None)
    }
    patch |= {name: None for name in own if name not in status}
    return {"status": patch} if patch else None


def _said(value: Any) -> Any:
    """Return a value without what it leaves open: API servers write null where nothing was said."""
    if isinstance(value, dict):
        return {name: _said(each) for name, each in value.items() if each is not None}
    return [_said(each) for each in value] if isinstance(value, list) else value


def _conditions(own: list[Obj], shown: list[Obj]) -> list[Obj]:
    """Return the pod's conditions, and of the placeholder's own those that the pod does not have."""
    return [*shown, *(each for each in own if find_condition(shown, each.get("type", "")) is None)]
