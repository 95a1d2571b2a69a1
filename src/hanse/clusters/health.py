"""Whether a member can be worked with: a pure judgement over its recent probes.

One failed probe topples nothing and one good one heals nothing: a cluster goes Offline after several failures in a
row that span a while, and comes back after several successes in a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class State(StrEnum):
    """What the registry thinks of a member."""

    UNKNOWN = "Unknown"
    READY = "Ready"
    NOT_READY = "NotReady"
    OFFLINE = "Offline"


@dataclass(frozen=True, slots=True)
class HealthTerms:
    """How often a member is probed and how much it takes to change one's mind."""

    period_seconds: float = 2.0
    timeout_seconds: float = 2.5
    failures_to_offline: int = 3
    seconds_to_offline: float = 6.0
    successes_to_ready: int = 3


@dataclass(frozen=True, slots=True)
class Probe:
    """What one look at a member's API server found."""

    answered: bool
    healthy: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """The judgement so far."""

    state: State = State.UNKNOWN
    why: str = "it has not been probed yet"
    failures: int = 0
    successes: int = 0
    failing_since: float = 0.0


def judge(health: Health, probe: Probe, now: float, terms: HealthTerms) -> Health:
    """Return the judgement after one more probe."""
    if probe.healthy:
        return _after_success(health, terms)
    failures = health.failures + 1
    since = health.failing_since if health.failures else now
    failing = replace(health, failures=failures, successes=0, failing_since=since)
    if failures < terms.failures_to_offline or now - since < terms.seconds_to_offline:
        return failing
    state = State.NOT_READY if probe.answered else State.OFFLINE
    # The first symptom is told; a dying server shows many, and none of the others is news.
    return failing if state is health.state else replace(failing, state=state, why=probe.why)


def _after_success(health: Health, terms: HealthTerms) -> Health:
    successes = health.successes + 1
    # A member that was never judged, or was well all along, needs no proof of stability.
    needed = 1 if health.state in (State.UNKNOWN, State.READY) else terms.successes_to_ready
    if successes < needed:
        return replace(health, failures=0, successes=successes)
    return Health(State.READY, "its API server answers /readyz", 0, successes)
