"""What a PodChaperon says of its pod, whoever keeps it: Hanse writes `status.fence`, Admiralty itself does not."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from hanse.api.admiralty.keys import POD_MISSING_SINCE
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import Obj, annotations_of, dig
from hanse.kube.runtime import parse_timestamp

SCHEDULED = "PodScheduled"
ENDED_PHASES = ("Succeeded", "Failed")
_WAITING_REASONS = ("Unschedulable", "SchedulingGated")


class Phase(StrEnum):
    """How far a chaperon's pod has come."""

    # It looks for a node.
    OFFERED = "Offered"
    # It has a node.
    BOUND = "Bound"
    # No node takes it now, or it is held by a gate.
    UNSCHEDULABLE = "Unschedulable"
    # Its containers have ended and will not run again.
    ENDED = "Ended"
    # It had been there and is gone.
    LOST = "Lost"
    # The cluster did not let it be made.
    REFUSED = "Refused"


def phase_of(chaperon: Obj) -> Phase:
    """Return how far a chaperon's pod has come, as its keeper says; where that is Admiralty's, as its status shows."""
    said = fence_of(chaperon.get("status")).get("phase")
    known = next((phase for phase in Phase if phase == said), None)
    if known is not None:
        return known
    if dig(chaperon, "status", "phase") in ENDED_PHASES:
        return Phase.ENDED
    if POD_MISSING_SINCE in annotations_of(chaperon):
        return Phase.LOST
    return scheduling_phase(chaperon.get("status"))


def scheduling_phase(status: Any) -> Phase:
    """Return how far a pod that has not ended has come, by its status."""
    scheduled = find_condition(dig(status, "conditions"), SCHEDULED) or {}
    if scheduled.get("status") == "True":
        return Phase.BOUND
    return Phase.UNSCHEDULABLE if scheduled.get("reason") in _WAITING_REASONS else Phase.OFFERED


def is_scheduled(chaperon: Obj) -> bool:
    """Tell whether a chaperon's pod has been given a node."""
    return is_true(dig(chaperon, "status", "conditions"), SCHEDULED)


def unschedulable_why(chaperon: Obj) -> str:
    """Return why no node takes a chaperon's pod, "" where that is not so."""
    if phase_of(chaperon) is not Phase.UNSCHEDULABLE:
        return ""
    return fence_of(chaperon.get("status")).get("message") or waiting_why(chaperon.get("status"))


def trouble_of(chaperon: Obj) -> str:
    """Return why a chaperon's pod does not get to run there: no node takes it, or the cluster refuses it; "" else."""
    if phase_of(chaperon) is Phase.REFUSED:
        return fence_of(chaperon.get("status")).get("message") or "the cluster refused the pod and did not say why"
    return unschedulable_why(chaperon)


def waiting_why(status: Any) -> str:
    """Return what the scheduler says of a pod that waits for a node; a sentence in any case."""
    scheduled = find_condition(dig(status, "conditions"), SCHEDULED) or {}
    if scheduled.get("reason") == "SchedulingGated":
        return scheduled.get("message") or "a scheduling gate holds the pod"
    return scheduled.get("message") or "the scheduler finds no node for the pod"


def missing_since(chaperon: Obj) -> float | None:
    """Return since when a chaperon's pod is gone that had been there; None where it is not."""
    said = annotations_of(chaperon).get(POD_MISSING_SINCE) or fence_of(chaperon.get("status")).get("missingSince")
    try:
        return parse_timestamp(said) if isinstance(said, str) else None
    except ValueError:
        return None


def attempt_of(chaperon: Obj) -> int:
    """Return which attempt to place its pod a chaperon stands for, 0 where it does not say (Admiralty's do not)."""
    attempt = fence_of(chaperon).get("attempt")
    return attempt if isinstance(attempt, int) and not isinstance(attempt, bool) else 0


def expiry_of(chaperon: Obj) -> float | None:
    """Return for how many seconds a chaperon's pod may run without a sign of its source; None says for ever."""
    seconds = fence_of(chaperon).get("expirySeconds")
    return float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None


def fence_of(holder: Any) -> Obj:
    """Return the `fence` of a chaperon or of its status, empty where it has none."""
    fence = dig(holder, "fence")
    return fence if isinstance(fence, dict) else {}
