"""What a release is given back when somebody has deleted one of its targets."""

import pytest

from hanse.kube.manifest import Key
from hanse.rollouts.environment import Pair, Step, Strategy
from hanse.rollouts.execution import Achieved, ReleaseView
from hanse.rollouts.releases.restoring import Held, held_by

VANGUARD = Strategy(
    steps=(
        Step("staging", Pair(100, 1), Pair(100, 0)),
        Step("half", Pair(50, 50), Pair(60, 40)),
        Step("full on", Pair(0, 100), Pair(0, 100)),
    )
)


def at(step, achieved=None, *, complete=False, strategy=VANGUARD):
    reached = None if achieved is None else Achieved(achieved, "")
    return ReleaseView(Key("ns", "web"), strategy, step, achieved=reached, complete=complete)


FULL = at(2, 2, complete=True)
CASES = {
    "alone and rolled out": (FULL, [], Held(100, 100)),
    "alone at its first step": (at(0), [], Held(1, 0)),
    "alone on its way up": (at(1, 0), [], Held(50, 40)),
    "alone on its way down": (at(0, 1), [], Held(50, 40)),
    "alone at a step that does not exist": (at(7, 1), [], Held(50, 40)),
    "followed by one that has achieved nothing": (FULL, [at(2)], Held(100, 100)),
    "followed by one at half": (FULL, [at(1, 1)], Held(50, 60)),
    "followed by one on its way to the end": (FULL, [at(2, 1)], Held(50, 60)),
    "followed by one on its way back": (FULL, [at(0, 2)], Held(100, 100)),
    "followed by one that was rolled out": (FULL, [FULL], Held(0, 0)),
    "never rolled out and followed by a new one": (at(2), [at(0)], Held(100, 100)),
    "long gone by": (FULL, [FULL, at(0)], Held(0, 0)),
    "followed by one that was given up for another": (FULL, [at(2, 0), at(0)], Held(100, 100)),
    "followed by one that was given up for one that stands": (FULL, [at(2, 0), at(0, 0)], Held(0, 0)),
    "followed by one without steps": (FULL, [at(0, strategy=Strategy())], Held(100, 100)),
}


@pytest.mark.parametrize(("release", "newer", "expected"), CASES.values(), ids=CASES)
def test_a_release_is_given_back_what_it_had_or_more_for_a_moment(release, newer, expected):
    assert held_by(release, newer) == expected
