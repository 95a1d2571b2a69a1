"""How an address stands with one checker: a pure judgement over its recent probes, slow to turn either way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hanse.api.federation import HealthSettings


class State(StrEnum):
    """What is thought of an address."""

    UNKNOWN = "unknown"
    ALIVE = "alive"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one probe found; `why` tells what was wrong with the answer, or that none came."""

    alive: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """The judgement so far, and how many probes in a row have spoken against it."""

    state: State = State.UNKNOWN
    why: str = ""
    against: int = 0


def judge(standing: Standing, finding: Finding, terms: HealthSettings) -> Standing:
    """Return the judgement after one more probe.

    An address that was never judged is alive with its first good answer, and dead after as many bad ones as any other.
    """
    if finding.alive == (standing.state is State.ALIVE) and standing.state is not State.UNKNOWN:
        return Standing(standing.state, standing.why)
    needed = terms.fall if not finding.alive else 1 if standing.state is State.UNKNOWN else terms.rise
    if standing.against + 1 < needed:
        return Standing(standing.state, standing.why, standing.against + 1)
    return Standing(State.ALIVE) if finding.alive else Standing(State.DEAD, finding.why)


def resumed(told: Standing, terms: HealthSettings) -> Standing:
    """Return with what a new run of a checker begins, where an earlier one told this: no judgement, but a leaning.

    What was dead is so again with the first bad answer, and what was alive with the first good one.
    """
    return Standing(State.UNKNOWN, told.why, terms.fall - 1 if told.state is State.DEAD else 0)
