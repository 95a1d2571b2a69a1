"""The status of a target: what is said of each cluster, and of all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hanse.kube.conditions import condition, find_condition, merge_conditions
from hanse.kube.manifest import Obj, dig

OPERATIONAL, READY = "Operational", "Ready"
CLUSTERS_NOT_READY = "ClustersNotReady"
IN_PROGRESS = "InProgress"
INTERNAL_ERROR = "InternalError"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a cluster is as it shall be, or why not; of one that is not `operational` nobody knows."""

    ready: bool
    reason: str = ""
    message: str = ""
    operational: bool = True

    @property
    def sentence(self) -> str:
        """Why it is not ready, as the target repeats it."""
        return f"{self.reason} {self.message}" if self.message else self.reason


AS_WANTED = Verdict(ready=True)


def not_ready(reason: str, message: str = "") -> Verdict:
    """Say that a cluster is not as it shall be."""
    return Verdict(ready=False, reason=reason, message=message)


def not_operational(message: str) -> Verdict:
    """Say that what a cluster has cannot be judged."""
    return Verdict(ready=False, reason=INTERNAL_ERROR, message=message, operational=False)


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of one cluster: the verdict, and the numbers that go with it."""

    verdict: Verdict
    facts: Obj = field(default_factory=dict)


def target_status(
    before: Obj, clusters: Mapping[str, Told], now: str, *, generation: int | None = None, problem: str = ""
) -> Obj:
    """Return a target's status; `problem` is one of the target itself, and `generation` that of its spec.

    Transition times move only when a status does. Shipper's words for what is right are none.
    """
    known = {entry.get("name"): entry for entry in before.get("clusters") or ()}
    unready = [f"{name}: {told.verdict.sentence}" for name, told in sorted(clusters.items()) if not told.verdict.ready]
    ready = condition(READY, True, "")
    if problem:
        ready = condition(READY, None, INTERNAL_ERROR, problem)
    elif unready:
        ready = condition(READY, False, CLUSTERS_NOT_READY, "; ".join(unready))
    operational = condition(OPERATIONAL, not problem, INTERNAL_ERROR if problem else "", problem)
    status: Obj = {
        "clusters": [
            {
                "name": name,
                **told.facts,
                "conditions": _merged(known.get(name, {}), _conditions(told.verdict), now),
            }
            for name, told in sorted(clusters.items())
        ],
        "conditions": _merged(before, [operational, ready], now),
    }
    return status if generation is None else {"observedGeneration": generation, **status}


def is_urgent(before: Obj, after: Obj) -> bool:
    """Tell whether somebody waits for the news: a cluster is ready, or is so no longer.

    That a new spec is not carried out yet is no news to those who wrote it.
    """
    if not before.get("conditions") or before.get("observedGeneration") != after.get("observedGeneration"):
        return _readiness(after).get("") == "True"
    return _readiness(before) != _readiness(after)


def _readiness(status: Obj) -> dict[str, str]:
    parts = {"": status, **{entry["name"]: entry for entry in status.get("clusters") or ()}}
    return {
        name: dig(find_condition(each.get("conditions"), READY), "status", default="") for name, each in parts.items()
    }


def _conditions(verdict: Verdict) -> list[Obj]:
    if not verdict.operational:
        return [
            condition(OPERATIONAL, False, verdict.reason, verdict.message),
            # Shipper leaves this one without a word; whoever waits for the cluster shall read why.
            condition(READY, None, verdict.reason, verdict.message),
        ]
    return [condition(OPERATIONAL, True, ""), condition(READY, verdict.ready, verdict.reason, verdict.message)]


def _merged(before: Obj, conditions: list[Obj], now: str) -> list[Obj]:
    return sorted(merge_conditions(before.get("conditions"), conditions, now), key=lambda entry: str(entry["type"]))
