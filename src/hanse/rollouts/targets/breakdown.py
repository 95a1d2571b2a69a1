"""What a release's pods are like, counted: by pod condition, and within each by container and its state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hanse.kube.manifest import Obj, dig, name_of

# At most so many pods are shown that something is wrong with.
SHOWN = 5
_LONGEST_MESSAGE = 120
_STATES = {"running": "Running", "waiting": "Waiting", "terminated": "Terminated"}


def sad_pods(pods: Iterable[Obj]) -> list[Obj]:
    """Return the pods of which some condition is False, in order of name, with what explains it."""
    found = ((pod, _false_condition(pod)) for pod in sorted(pods, key=name_of))
    return [
        {
            "name": name_of(pod),
            "condition": condition,
            "containers": dig(pod, "status", "containerStatuses", default=[]),
            "initContainers": dig(pod, "status", "initContainerStatuses", default=[]),
        }
        for pod, condition in found
        if condition is not None
    ]


def summary(sad: Sequence[Obj]) -> str:
    """Return how many containers of each name are not ready, and for which reasons.

    Of pods whose containers say nothing, as of one that no node takes, it is the pod's own condition that tells.
    """
    counts: dict[str, int] = {}
    reasons: dict[str, set[str]] = {}
    silent: list[Obj] = []
    for pod in sad:
        unready = [each for each in (*pod["initContainers"], *pod["containers"]) if not each.get("ready")]
        if not unready:
            silent.append(pod["condition"])
        for container in unready:
            name = container["name"]
            counts[name] = counts.get(name, 0) + 1
            kind, state = _state(container)
            if kind != "Running" and state.get("reason"):
                reasons.setdefault(name, set()).add(state["reason"])
    told = [
        f'{counts[name]}x"{name}" containers with [{" ".join(sorted(reasons.get(name, ())))}]'
        for name in sorted(counts)
    ]
    return "; ".join([*told, *_silent(silent)])


def breakdown(owner: str, pods: Iterable[Obj]) -> Obj:
    """Return the report of a Deployment's pods."""
    groups: dict[tuple[str, str, str], list[Obj]] = {}
    for pod in sorted(pods, key=name_of):
        for found in dig(pod, "status", "conditions", default=[]):
            key = (found.get("type") or "", found.get("status") or "", found.get("reason") or "")
            groups.setdefault(key, []).append(pod)
    return {
        "owner": {"name": owner},
        "breakdown": [
            {
                "type": kind,
                "status": status,
                **({"reason": reason} if reason else {}),
                "count": len(members),
                "containers": _containers(members),
            }
            for (kind, status, reason), members in sorted(groups.items(), key=lambda group: group[0])
        ],
    }


def _silent(conditions: Sequence[Obj]) -> list[str]:
    """Count pods by the reason of their condition, each reason with the first message that there is of it."""
    found: dict[str, list[Obj]] = {}
    for each in conditions:
        found.setdefault(each.get("reason") or each.get("type") or "", []).append(each)
    told = []
    for reason, alike in sorted(found.items()):
        message = next((_shortened(each["message"]) for each in alike if each.get("message")), "")
        told.append(f"{len(alike)}x pods with [{reason}]" + (f": {message}" if message else ""))
    return told


def _shortened(message: str) -> str:
    """Return the first sentence of a message: schedulers go on with what they tried in vain."""
    first = message.partition(". ")[0].rstrip(".")
    return first if len(first) <= _LONGEST_MESSAGE else f"{first[: _LONGEST_MESSAGE - 1]}…"


def _containers(pods: Iterable[Obj]) -> list[Obj]:
    states: dict[str, dict[tuple[str, str], Obj]] = {}
    for pod in pods:
        for container in dig(pod, "status", "containerStatuses", default=[]):
            kind, state = _state(container)
            reason = state.get("reason") or ""
            of_container = states.setdefault(container["name"], {})
            counted = of_container.get((kind, reason))
            if counted is not None:
                counted["count"] += 1
                continue
            example: Obj = {"pod": name_of(pod)}
            if message := _ending(container):
                example["message"] = message
            of_container[kind, reason] = {"type": kind, "reason": reason, "count": 1, "example": example}
    return [
        {"name": name, "states": [counted for _, counted in sorted(found.items(), key=lambda each: each[0])]}
        for name, found in sorted(states.items())
    ]


def _state(container: Obj) -> tuple[str, Obj]:
    """Return a container's state and what is said of it; one that says nothing waits, as the API has it."""
    state: Obj = container.get("state") or {}
    for field, kind in _STATES.items():
        if state.get(field) is not None:
            return kind, state[field]
    return "Waiting", {}


def _ending(container: Obj) -> str:
    """Return how a container ended: the last time where it was started again, otherwise now; "" while it has not."""
    which = "lastState" if container.get("restartCount") else "state"
    ended: dict[str, Any] | None = dig(container, which, "terminated")
    if ended is None:
        return ""
    if ended.get("message"):
        return str(ended["message"])
    if ended.get("signal"):
        return f"Terminated with signal {ended['signal']}"
    return f"Terminated with exit code {ended.get('exitCode', 0)}"


def _false_condition(pod: Obj) -> Obj | None:
    conditions: list[Obj] = dig(pod, "status", "conditions", default=[])
    return next((entry for entry in conditions if entry.get("status") == "False"), None)
