"""Waiting for a rollout: what counts as its end, for people and for pipelines.

0  the step is achieved, or the rollout complete
1  it could not be looked at
3  it does not get there: aborted, replaced, blocked, failed
4  it did not get there in time
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from hanse.cli.failures import Failure, Misuse
from hanse.cli.rollout_following import Followed
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.runtime import Runtime
from hanse.rollouts.environment import EnvironmentProblem, seconds_of
from hanse.rollouts.reading import Outcome, Role, RolloutReading, is_settled, step_title

# What is tried again by itself counts as a failure once it has stood for so long.
_PATIENCE_SECONDS = 30.0


class Stuck(Failure):
    """A rollout that does not reach what is waited for without a person."""

    exit_code = 3


class TooLate(Failure):
    """A rollout that has not reached what is waited for in time."""

    exit_code = 4


@dataclass(frozen=True, slots=True)
class Goal:
    """What is waited for: a step, the end, or with neither the step that the release shall reach now."""

    step: int | None = None
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """How waiting ends: reached, or not; one that `may_pass` is waited out for a while."""

    reached: bool
    sentence: str
    may_pass: bool = False


def parse_timeout(text: str) -> float | None:
    """Read how long to wait, None for ever; raises Misuse."""
    if not text or text == "0":
        return None
    try:
        return float(text) if text.isdecimal() else seconds_of(text, "--timeout")
    except EnvironmentProblem as error:
        raise Misuse(str(error)) from error


def ending(goal: Goal, rollout: RolloutReading | None, release: str) -> Ending | None:
    """Say how waiting ends, None while it goes on; `release` is the one that is waited for, once that is known."""
    if rollout is None:
        return Ending(False, "the application is gone")
    if (lost := _lost(rollout, release)) is not None:
        return lost
    verdict = rollout.verdict
    if verdict.outcome in (Outcome.FAILED, Outcome.BLOCKED):
        return Ending(False, verdict.why, verdict.may_pass)
    contender = rollout.contender
    if contender is None or not rollout.is_current:
        return None
    achieved = contender.achieved_step
    if goal.complete:
        return Ending(True, f"release {contender.name} is complete") if verdict.outcome is Outcome.COMPLETE else None
    if goal.step is None:
        reached = is_settled(contender.obj)
    else:
        reached = achieved is not None and min(achieved, contender.target_step) >= goal.step
    if not reached or achieved is None:
        return None
    return Ending(True, f"release {contender.name} has achieved step {step_title(contender.obj, achieved)}")


def _lost(rollout: RolloutReading, release: str) -> Ending | None:
    """Say what became of the release that is waited for, None where it is still the one that is rolled out."""
    if not release:
        return None
    found = rollout.named(release)
    if found is None or found.role is Role.LEAVING:
        return Ending(False, f"release {release} was aborted")
    if found.role is not Role.CONTENDER and rollout.contender is not None:
        return Ending(False, f"release {release} was replaced by {rollout.contender.name}")
    return None


@dataclass(slots=True)
class _Watcher:
    goal: Goal
    runtime: Runtime
    tell: Callable[[str], None]
    release: str = ""
    told: str = field(default="nothing was seen of it yet")
    shaky_since: float | None = None

    def look(self, rollout: RolloutReading | None) -> str | None:
        """Tell what is new; returns the sentence with which waiting ends well, raises Stuck where it does not."""
        if not self.release and rollout is not None and rollout.is_current and rollout.contender is not None:
            self.release = rollout.contender.name
        end = ending(self.goal, rollout, self.release)
        if end is not None and end.reached:
            return end.sentence
        if end is None:
            self.shaky_since = None
            self._tell(_progress(rollout))
            return None
        if self.shaky_since is None:
            self.shaky_since = self.runtime.monotonic()
        if not end.may_pass or self.runtime.monotonic() - self.shaky_since >= _PATIENCE_SECONDS:
            raise Stuck(end.sentence)
        self._tell(end.sentence)
        return None

    def _tell(self, sentence: str) -> None:
        if sentence != self.told:
            self.tell(sentence)
        self.told = sentence


def _progress(rollout: RolloutReading | None) -> str:
    if rollout is None or rollout.contender is None or not rollout.is_current:
        return rollout.verdict.why if rollout is not None else ""
    contender = rollout.contender
    return f"step {step_title(contender.obj, contender.target_step)}: {rollout.verdict.why}"


async def wait_for(
    host: Client, key: Key, goal: Goal, timeout: float | None, tell: Callable[[str], None], release: str = ""
) -> str:
    """Wait for an application's rollout, telling what is new; returns how it ended, raises Stuck and TooLate."""
    watcher = _Watcher(goal, host.runtime, tell, release)
    following = Followed(host, key)
    # However little time there is, what is said at its end was looked at.
    if (sentence := await _look(following, watcher)) is not None:
        return sentence
    try:
        async with asyncio.timeout(timeout):
            return await _watch(following, watcher)
    except TimeoutError as error:
        raise TooLate(f"application {key.name} did not get there within {timeout:g} s: {watcher.told}") from error


async def _watch(following: Followed, watcher: _Watcher) -> str:
    while True:
        await following.rest()
        if (sentence := await _look(following, watcher)) is not None:
            return sentence


async def _look(following: Followed, watcher: _Watcher) -> str | None:
    found = await following.look()
    return watcher.look(found[0] if found else None)
