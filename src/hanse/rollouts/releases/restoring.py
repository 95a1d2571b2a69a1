"""What a release had before somebody deleted one of its targets, as far as the steps of its application tell. Pure.

A target that is made anew with too little takes pods or clients away at once; one with too much is lowered by the
executor, as soon as others can do without. So where several numbers are possible it is the greatest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hanse.rollouts.environment import Step
from hanse.rollouts.execution import ReleaseView


@dataclass(frozen=True, slots=True)
class Held:
    """What a release is to have in each of its clusters: a percentage of its pods, and a weight."""

    percent: int = 0
    weight: int = 0


def held_by(release: ReleaseView, newer: Sequence[ReleaseView]) -> Held:
    """Say what a release has, beside those that came after it and have anything in clusters, the oldest first.

    The newest one has what its own step says. The one before it has what that step leaves to it, and those before that
    what the last step of their successors leaves; until that begins, all that they were rolled out with.
    """
    if not newer:
        return _contender(_steps(release, release.target_step, _achieved(release)))
    leader, newest = newer[0], newer[-1]
    if leader is newest:
        left = _incumbent(_steps(leader, leader.target_step, _achieved(leader)))
        begun = leader.achieved is not None
    else:
        left = _incumbent(leader.strategy.steps[-1:])
        begun = _achieved(newest) == newest.target_step or any(each.complete for each in newer[:-1])
    if begun or not release.complete:
        return left
    own = _contender(release.strategy.steps[-1:])
    return Held(max(left.percent, own.percent), max(left.weight, own.weight))


def _achieved(release: ReleaseView) -> int | None:
    return None if release.achieved is None else release.achieved.step


def _steps(release: ReleaseView, *places: int | None) -> list[Step]:
    """Return those of a strategy's steps that exist: a person may have asked for another one."""
    steps = release.strategy.steps
    return [steps[place] for place in places if place is not None and 0 <= place < len(steps)]


def _contender(steps: Iterable[Step]) -> Held:
    pairs = [(step.capacity.contender, step.traffic.contender) for step in steps]
    return _greatest(pairs)


def _incumbent(steps: Iterable[Step]) -> Held:
    pairs = [(step.capacity.incumbent, step.traffic.incumbent) for step in steps]
    return _greatest(pairs)


def _greatest(pairs: Sequence[tuple[int, int]]) -> Held:
    return Held(max((each for each, _ in pairs), default=0), max((each for _, each in pairs), default=0))
