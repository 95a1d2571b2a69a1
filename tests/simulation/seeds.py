"""Plays random worlds from the command line: `python -m tests.simulation.seeds --seed 17` tells what happened in one.

`make soak` plays thousands (`tests/soak`). A seed that breaks a promise is named with the command that plays it again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.simulation.playing import complaint_of, play_seeds, quietly
from tests.simulation.random_history import STEPS, Outcome, play

_MODULE = "tests.simulation.seeds"


def complaint(outcome: Outcome) -> str:
    """Say what a seed broke, what had happened until then, and how to see it again."""
    return complaint_of(_MODULE, outcome)


def play_quietly(seed: int, steps: int = STEPS, themes: Sequence[str] | None = None) -> Outcome:
    """Play a seed without the control plane's own log."""
    with quietly():
        return play(seed, steps, themes)


if __name__ == "__main__":
    sys.exit(play_seeds(_MODULE, __doc__, play_quietly))
