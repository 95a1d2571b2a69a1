"""Which taints a node's condition calls for, and how long a pod stays on a node that is tainted against it."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig
from hanse.kube.runtime import parse_timestamp
from hanse.simulator.scheduling.wishes import tolerates

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
_CORDONED = "node.kubernetes.io/unschedulable"
_PRESSURES = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
    "NetworkUnavailable": "node.kubernetes.io/network-unavailable",
}
_OURS = {NOT_READY, UNREACHABLE, _CORDONED, *_PRESSURES.values()}


def wanted_taints(node: Obj, now: str) -> list[Obj]:
    """Return a node's taints as they should be: others' as they are, those of its condition brought up to date."""
    present: list[Obj] = dig(node, "spec", "taints", default=[])
    needed = _needed(node)
    kept = [taint for taint in present if taint["key"] not in _OURS or _name(taint) in needed]
    named = {_name(taint) for taint in kept}
    return kept + [_made(key, effect, now) for key, effect in needed if (key, effect) not in named]


def _needed(node: Obj) -> list[tuple[str, str]]:
    conditions: list[Obj] = dig(node, "status", "conditions", default=[])
    ready = (find_condition(conditions, "Ready") or {}).get("status", "Unknown")
    found = []
    if ready != "True":
        key = NOT_READY if ready == "False" or not conditions else UNREACHABLE
        found += [(key, "NoSchedule"), (key, "NoExecute")]
    if dig(node, "spec", "unschedulable"):
        found.append((_CORDONED, "NoSchedule"))
    for kind, key in _PRESSURES.items():
        if (find_condition(conditions, kind) or {}).get("status") == "True":
            found.append((key, "NoSchedule"))
    return found


def _name(taint: Obj) -> tuple[str, str]:
    return taint["key"], taint["effect"]


def _made(key: str, effect: str, now: str) -> Obj:
    return {"key": key, "effect": effect, "timeAdded": now} if effect == "NoExecute" else {"key": key, "effect": effect}


def seconds_until_eviction(
    taints: Sequence[Obj], tolerations: Sequence[Obj], *, created: float, now: float
) -> float | None:
    """Return after how many seconds a pod must leave its node; None where it may stay.

    A pod that came when the taint was there already tolerates it for as long as one that was there before.
    """
    limits: list[float] = []
    for taint in taints:
        if taint["effect"] != "NoExecute":
            continue
        putting_up = [toleration for toleration in tolerations if tolerates(toleration, taint)]
        if not putting_up:
            return 0.0
        spans = [
            float(entry["tolerationSeconds"]) for entry in putting_up if entry.get("tolerationSeconds") is not None
        ]
        if spans:
            since = parse_timestamp(taint["timeAdded"]) if taint.get("timeAdded") else now
            limits.append(max(since, created) + min(spans) - now)
    return max(0.0, min(limits)) if limits else None
