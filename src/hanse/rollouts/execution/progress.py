"""What a release remembers of the step that it is in: since when, what checks answered, what failed.

It is kept in the Release's `status.progress`, so that a control plane that starts anew goes on where the last one was.
Another targetStep begins with an empty memory. Times that lie in the future, since a clock was set back, count as now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from hanse.kube.manifest import Obj
from hanse.kube.runtime import micro_timestamp, parse_timestamp
from hanse.rollouts.environment import Remedy, Strategy
from hanse.rollouts.execution.views import Outcome, ReleaseView


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a check was asked and what it said; the last answer in full."""

    asked: int = 0
    failed: int = 0
    inconclusive: int = 0
    at: float = 0.0
    outcome: Outcome | None = None
    value: str = ""


class Cause(StrEnum):
    """What holds a step up, in one word."""

    CHECK_FAILED = "CheckFailed"
    INCONCLUSIVE = "Inconclusive"
    DEADLINE_EXCEEDED = "DeadlineExceeded"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a step is held up and what is done about it; a person who resumes the release has overridden it.

    `frozen` is whether the release was seen paused since then.
    """

    message: str
    remedy: Remedy
    cause: Cause
    carried_out: bool = False
    frozen: bool = False
    overridden: bool = False

    @property
    def holds(self) -> bool:
        """Whether the step still stands still for it."""
        return not self.overridden


@dataclass(frozen=True, slots=True)
class Progress:
    """The memory of one step."""

    step: int
    since: float
    achieved_at: float | None = None
    # Seconds that do not count for the deadline, and since when time does not count.
    held: float = 0.0
    held_since: float | None = None
    well: Mapping[str, float] = field(default_factory=dict)
    checks: Mapping[str, Tally] = field(default_factory=dict)
    failure: Failure | None = None

    @property
    def is_held_up(self) -> bool:
        """Whether a failure keeps the step from going on."""
        return self.failure is not None and self.failure.holds

    @property
    def is_overridden(self) -> bool:
        """Whether a person let the step go on in spite of a failure."""
        return self.failure is not None and self.failure.overridden

    def spent(self, now: float) -> float:
        """Return the seconds that the step has taken, without those in which it was held."""
        return (self.held_since if self.held_since is not None else now) - self.since - self.held


def has_memory(strategy: Strategy) -> bool:
    """Tell whether a strategy asks for anything that must be remembered; Shipper's own do not."""
    return (
        strategy.deadline is not None
        or any(wave.pause_seconds for wave in strategy.waves)
        or any(step.pause_seconds is not None or step.checks for step in strategy.steps)
    )


def remembered(release: ReleaseView, now: float, *, stands: bool = False) -> Progress:
    """Return what a release remembers of its present targetStep, with the pause that began or ended since then.

    One that `stands` may not go on although it is not paused.
    """
    raw, stands = release.progress, stands or release.paused
    if raw.get("step") != release.target_step:
        return _held(Progress(release.target_step, now), stands, now)
    known = Progress(
        step=release.target_step,
        since=_time(raw.get("since"), now) or now,
        achieved_at=_time(raw.get("achievedAt"), now),
        held=float(raw.get("heldSeconds") or 0.0),
        held_since=_time(raw.get("heldSince"), now),
        well={name: _time(text, now) or now for name, text in (raw.get("wellSince") or {}).items()},
        checks={name: _tally(each, now) for name, each in (raw.get("checks") or {}).items()},
        failure=_failure(raw.get("failure")),
    )
    return _seen_by_a_person(_held(known, stands, now), paused=release.paused)


def held(release: ReleaseView, now: float) -> Obj:
    """Return the progress of a release that may not be executed now: the time does not count for its deadline."""
    if not has_memory(release.strategy):
        return {}
    return written(remembered(release, now, stands=True))


def carried_out(progress: Obj) -> Obj:
    """Return the progress of a release whose remedy was carried out, so that it is asked for no more."""
    failure = progress.get("failure")
    return {**progress, "failure": {**failure, "carriedOut": True}} if failure else progress


def written(progress: Progress) -> Obj:
    """Write a memory as it is stored; what is not known is left out."""
    found: dict[str, Any] = {
        "step": progress.step,
        "since": micro_timestamp(progress.since),
        "achievedAt": _text(progress.achieved_at),
        "heldSeconds": round(progress.held, 6) or None,
        "heldSince": _text(progress.held_since),
        "wellSince": {name: micro_timestamp(at) for name, at in sorted(progress.well.items())} or None,
        "checks": {name: _written_tally(each) for name, each in sorted(progress.checks.items())} or None,
        "failure": _written_failure(progress.failure) if progress.failure else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _held(progress: Progress, stands: bool, now: float) -> Progress:
    if stands == (progress.held_since is not None):
        return progress
    if stands:
        return replace(progress, held_since=now)
    assert progress.held_since is not None  # noqa: S101 - compared above
    return replace(progress, held=progress.held + now - progress.held_since, held_since=None)


def _seen_by_a_person(progress: Progress, *, paused: bool) -> Progress:
    """A failure that has paused the release is carried out; one whose pause a person ended is overridden."""
    failure = progress.failure
    if failure is None or failure.overridden:
        return progress
    if paused:
        return replace(progress, failure=replace(failure, carried_out=True, frozen=True))
    # A rollback that was carried out pauses nothing; the others do where no release takes this one's place.
    if failure.frozen or (failure.carried_out and failure.remedy is not Remedy.ROLLBACK):
        return replace(progress, failure=replace(failure, overridden=True))
    return progress


def _time(text: Any, now: float) -> float | None:
    if not isinstance(text, str):
        return None
    try:
        return min(parse_timestamp(text), now)
    except ValueError:
        return None


def _text(at: float | None) -> str | None:
    return None if at is None else micro_timestamp(at)


def _tally(raw: Mapping[str, Any], now: float) -> Tally:
    outcome = raw.get("outcome")
    return Tally(
        asked=int(raw.get("asked") or 0),
        failed=int(raw.get("failed") or 0),
        inconclusive=int(raw.get("inconclusive") or 0),
        at=_time(raw.get("at"), now) or 0.0,
        outcome=Outcome(outcome) if outcome in tuple(Outcome) else None,
        value=str(raw.get("value") or ""),
    )


def _written_tally(tally: Tally) -> Obj:
    return {
        "asked": tally.asked,
        "failed": tally.failed,
        "inconclusive": tally.inconclusive,
        "at": micro_timestamp(tally.at),
        "outcome": str(tally.outcome),
        "value": tally.value,
    }


def _failure(raw: Mapping[str, Any] | None) -> Failure | None:
    if not raw:
        return None
    remedy, cause = raw.get("remedy"), raw.get("cause")
    return Failure(
        message=str(raw.get("message") or ""),
        remedy=Remedy(remedy) if remedy in tuple(Remedy) else Remedy.PAUSE,
        cause=Cause(cause) if cause in tuple(Cause) else Cause.CHECK_FAILED,
        carried_out=bool(raw.get("carriedOut")),
        frozen=bool(raw.get("frozen")),
        overridden=bool(raw.get("overridden")),
    )


def _written_failure(failure: Failure) -> Obj:
    found: Obj = {"message": failure.message, "remedy": str(failure.remedy), "cause": str(failure.cause)}
    marks = {"carriedOut": failure.carried_out, "frozen": failure.frozen, "overridden": failure.overridden}
    return {**found, **{name: True for name, holds in marks.items() if holds}}
