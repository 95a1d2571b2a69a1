"""What a cluster turned out to hold: the pods that its scheduler has found no node for, for a minute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

# A scheduler needs a moment, and a cluster may be growing; KubeFed waited as long.
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PodView:
    """What matters of a pod; `unschedulable_since` is None while no scheduler has given it up."""

    running: bool = False
    unschedulable_since: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many replicas fit (None: no limit is known), and when to look again (None: no need to)."""

    capacity: int | None = None
    look_again_at: float | None = None


def estimate_capacity(replicas: int, pods: Iterable[PodView], now: float) -> Estimate:
    """Tell from a workload's pods how many replicas its cluster can hold."""
    waiting = [pod.unschedulable_since for pod in pods if not pod.running and pod.unschedulable_since is not None]
    given_up = sum(now - since > PATIENCE_SECONDS for since in waiting)
    soon = [since + PATIENCE_SECONDS for since in waiting if now - since <= PATIENCE_SECONDS]
    return Estimate(max(0, replicas - given_up) if given_up else None, min(soon, default=None))
