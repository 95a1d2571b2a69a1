"""Waiting for a rollout: what counts as its end, for people and for pipelines.

0  the step is achieved, or the rollout complete
1  it could not be looked at
3  it does not get there: aborted, replaced, blocked, failed
4  it did not get there in time
130  somebody stopped waiting
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import click

from hanse.cli.failures import Failure, Misuse
from hanse.cli.rollout_following import Followed
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Key, Obj, dig, uid_of
from hanse.kube.resources import EVENTS
from hanse.kube.runtime import Runtime
from hanse.rollouts.environment import EnvironmentProblem, seconds_of
from hanse.rollouts.reading import Outcome, Role, RolloutReading, counted_from_one, failure_of, is_settled, step_title

# What is tried again by itself counts as a failure once it has stood for so long.
_PATIENCE_SECONDS = 30.0
# What the control plane tells of a release that it takes back by itself.
_TAKEN_BACK = ("RolloutAborted", "RolloutRolledBack")


class Stuck(Failure):
    """A rollout that does not reach what is waited for without a person."""

    exit_code = 3


class Lost(Stuck):
    """A release that is no longer the one that is rolled out."""


class Stopped(Failure):
    """Waiting that a person has stopped, which is no error."""

    exit_code = 130

    def show(self, _file: object = None) -> None:
        """Print the sentence."""
        click.echo(self.format_message(), err=True)


@contextmanager
def stoppable() -> Iterator[None]:
    """Say on Ctrl-C what became of the rollout: nothing."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise Stopped("stopped waiting; the rollout goes on") from error


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
    """How waiting ends: reached, or not; one that `may_pass` is waited out for a while.

    With `lost` the release that is waited for is no longer rolled out.
    """

    reached: bool
    sentence: str
    may_pass: bool = False
    lost: bool = False


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
    if verdict.outcome is Outcome.FAILED:
        return Ending(False, verdict.why, verdict.may_pass)
    # A block keeps a rollout from going on, and takes nothing from what it has reached; a check may have, though.
    failed = rollout.contender is not None and failure_of(rollout.contender.obj)
    if not failed and (reached := _reached(goal, rollout)) is not None:
        return reached
    return Ending(False, verdict.why) if verdict.outcome is Outcome.BLOCKED else None


def _reached(goal: Goal, rollout: RolloutReading) -> Ending | None:
    contender = rollout.contender
    if contender is None or not rollout.is_current:
        return None
    achieved = contender.achieved_step
    if goal.complete:
        is_over = rollout.verdict.outcome is Outcome.COMPLETE
        return Ending(True, f"release {contender.name} is complete") if is_over else None
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
        return Ending(False, f"release {release} was aborted", lost=True)
    if found.role is not Role.CONTENDER and rollout.contender is not None:
        return Ending(False, f"release {release} was replaced by {rollout.contender.name}", lost=True)
    return None


@dataclass(slots=True)
class _Watcher:
    goal: Goal
    runtime: Runtime
    tell: Callable[[str], None]
    release: str = ""
    told: str = field(default="nothing was seen of it yet")
    shaky_since: float | None = None
    failure: str = ""
    seen: Obj = field(default_factory=dict)

    def look(self, rollout: RolloutReading | None) -> str | None:
        """Tell what is new; returns the sentence with which waiting ends well, raises Stuck where it does not."""
        if not self.release and rollout is not None and rollout.is_current and rollout.contender is not None:
            self.release = rollout.contender.name
        if rollout is not None and (found := rollout.named(self.release)) is not None:
            self.failure, self.seen = failure_of(found.obj), found.obj
        end = ending(self.goal, rollout, self.release)
        if end is not None and end.reached:
            return end.sentence
        if end is None:
            self.shaky_since = None
            self._tell(_progress(rollout))
            return None
        if end.lost:
            raise Lost(taken_back(self.release, self.failure) if self.failure else end.sentence)
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


def taken_back(release: str, why: str) -> str:
    """Say that the control plane has taken a release back by itself."""
    return f"release {release} was rolled back: {why}"


def _progress(rollout: RolloutReading | None) -> str:
    if rollout is None or rollout.contender is None or not rollout.is_current:
        return rollout.verdict.why if rollout is not None else ""
    title, why = f"step {step_title(rollout.contender.obj, rollout.contender.target_step)}", rollout.verdict.why
    return why if why.startswith(title) else f"{title}: {why}"


async def wait_for(
    host: Client, key: Key, goal: Goal, timeout: float | None, tell: Callable[[str], None], release: str = ""
) -> str:
    """Wait for an application's rollout, telling what is new; returns how it ended, raises Stuck and TooLate."""
    watcher = _Watcher(goal, host.runtime, tell, release)
    try:
        return await _wait(Followed(host, key), watcher, key, timeout)
    except Lost as lost:
        if watcher.seen and not watcher.failure and (why := await _why_taken_back(host, key.namespace, watcher)):
            raise Lost(taken_back(watcher.release, why)) from lost
        raise


async def _wait(following: Followed, watcher: _Watcher, key: Key, timeout: float | None) -> str:
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


async def _why_taken_back(host: Client, namespace: str, watcher: _Watcher) -> str:
    """Return what an event says of a release that went between two looks, "" where none does or may be read."""
    try:
        events = (await host.list(EVENTS, namespace, fields=f"involvedObject.name={watcher.release}")).items
    except ApiError:
        return ""
    # Another release may have had that name before.
    told = (each for each in events if dig(each, "involvedObject", "uid") == uid_of(watcher.seen))
    why = next((str(each.get("message") or "") for each in told if each.get("reason") in _TAKEN_BACK), "")
    return counted_from_one(watcher.seen, why)
