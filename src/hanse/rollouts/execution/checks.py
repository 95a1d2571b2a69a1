"""What the checks of a step have found, and which of them are to be asked now: pure, from what was answered so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hanse.rollouts.environment import Check, Remedy
from hanse.rollouts.execution.progress import Cause, Failure, Tally
from hanse.rollouts.execution.views import Answer, Outcome

_LONGEST_VALUE = 120


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Where the checks of a step stand: which are due, when the next one is, and what is still to be answered."""

    due: tuple[Check, ...] = ()
    wait: float | None = None
    waits_for: str = ""
    failure: Failure | None = None

    @property
    def passed(self) -> bool:
        """Whether every check has been asked as often as it should be and none failed."""
        return not self.waits_for and self.failure is None


def counted(checks: Sequence[Check], tallies: Mapping[str, Tally], answers: Mapping[str, Answer]) -> dict[str, Tally]:
    """Add answers to what was known; one that was counted before, or that nobody asks for any more, changes nothing."""
    found = {check.name: tallies.get(check.name, Tally()) for check in checks}
    for check in checks:
        answer, known = answers.get(check.name), found[check.name]
        if answer is not None and answer.at > known.at and known.asked < check.count:
            found[check.name] = _counted(known, answer)
    return {name: tally for name, tally in found.items() if tally.asked}


def inquire(checks: Sequence[Check], tallies: Mapping[str, Tally], on_failure: Remedy, now: float) -> Inquiry:
    """Judge what checks have answered so far."""
    for check in checks:
        failure = _failure(check, tallies.get(check.name, Tally()), on_failure)
        if failure is not None:
            return Inquiry(failure=failure)
    left = [check for check in checks if tallies.get(check.name, Tally()).asked < check.count]
    if not left:
        return Inquiry()
    due = {check.name: _due_in(check, tallies.get(check.name), now) for check in left}
    told = ", ".join(
        f'"{each.name}" ({tallies.get(each.name, Tally()).asked} of {each.count} answers)' for each in left
    )
    later = [seconds for seconds in due.values() if seconds > 0]
    return Inquiry(
        due=tuple(check for check in left if due[check.name] <= 0),
        wait=min(later) if later else None,
        waits_for=f"waiting for the checks of this step: {told}",
    )


def _counted(known: Tally, answer: Answer) -> Tally:
    return replace(
        known,
        asked=known.asked + 1,
        failed=known.failed + (answer.outcome is Outcome.FAILURE),
        inconclusive=known.inconclusive + (answer.outcome is Outcome.INCONCLUSIVE),
        at=answer.at,
        outcome=answer.outcome,
        value=answer.value[:_LONGEST_VALUE],
    )


def _failure(check: Check, tally: Tally, on_failure: Remedy) -> Failure | None:
    last = f": {tally.value}" if tally.value else ""
    if tally.failed > check.failure_limit:
        told = f'check "{check.name}" failed {_times(tally.failed)}{last}'
        return Failure(told, on_failure, Cause.CHECK_FAILED)
    if tally.inconclusive > check.inconclusive_limit:
        # Nobody knows whether the release is bad; a person has to look.
        told = f'check "{check.name}" found no answer {_times(tally.inconclusive)}{last}'
        return Failure(told, Remedy.PAUSE, Cause.INCONCLUSIVE)
    return None


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _due_in(check: Check, tally: Tally | None, now: float) -> float:
    return 0.0 if tally is None else tally.at + check.interval_seconds - now
