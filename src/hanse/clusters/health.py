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


class Symptom(StrEnum):
    """What a probe found, as the reason of a condition names it."""

    NOT_PROBED = "NotProbed"
    READY = "ClusterReady"
    NOT_READY = "ClusterNotReady"
    NOT_REACHABLE = "ClusterNotReachable"
    NOT_RESPONDING = "ClusterNotResponding"
    NOT_TRUSTED = "CertificateNotTrusted"
    NOT_AUTHENTICATED = "CredentialsRejected"
    NOT_AUTHORIZED = "AccessDenied"
    UNUSABLE = "CredentialsUnusable"
    DUPLICATE = "SameCluster"


@dataclass(frozen=True, slots=True)
class HealthTerms:
    """How often a member is probed and how much it takes to change one's mind.

    The timeout is for all of a member's addresses together: a hanging one cannot make the others late. At the defaults
    the longest way to Offline, from just after a good probe, is under ten seconds, for silence and for refusals alike.
    """

    period_seconds: float = 2.0
    timeout_seconds: float = 2.5
    failures_to_offline: int = 3
    seconds_to_offline: float = 5.0
    successes_to_ready: int = 3
    jitter: float = 0.1


@dataclass(frozen=True, slots=True)
class Probe:
    """What one look at a member's API server found, and how long that took."""

    answered: bool
    healthy: bool
    why: str = ""
    symptom: Symptom = Symptom.NOT_REACHABLE
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Health:
    """The judgement so far, and the row of probes that may change it."""

    state: State = State.UNKNOWN
    why: str = "it has not been probed yet"
    failures: int = 0
    successes: int = 0
    failing_since: float = 0.0
    symptom: Symptom = Symptom.NOT_PROBED
    latest: Symptom = Symptom.NOT_PROBED
    repeated: int = 0


def judge(health: Health, probe: Probe, now: float, terms: HealthTerms) -> Health:
    """Return the judgement after one more probe."""
    if probe.healthy:
        return _after_success(health, terms)
    failing = replace(
        health,
        failures=health.failures + 1,
        successes=0,
        failing_since=health.failing_since if health.failures else now - probe.seconds,
        latest=probe.symptom,
        repeated=health.repeated + 1 if probe.symptom is health.latest else 1,
    )
    if failing.failures < terms.failures_to_offline or now - failing.failing_since < terms.seconds_to_offline:
        return failing
    state = State.NOT_READY if probe.answered else State.OFFLINE
    # A dying server shows many symptoms in turn, and only one that stays is news after the first.
    settled = probe.symptom is not health.symptom and failing.repeated >= terms.failures_to_offline
    if state is health.state and not settled:
        return failing
    return replace(failing, state=state, why=probe.why, symptom=probe.symptom)


def _after_success(health: Health, terms: HealthTerms) -> Health:
    successes = health.successes + 1
    # A member that was never judged, or was well all along, needs no proof of stability.
    needed = 1 if health.state in (State.UNKNOWN, State.READY) else terms.successes_to_ready
    if successes < needed:
        return replace(health, failures=0, repeated=0, latest=Symptom.NOT_PROBED, successes=successes)
    return Health(State.READY, "its API server answers /readyz", 0, successes, symptom=Symptom.READY)
