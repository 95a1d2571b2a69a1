"""Plays random federated Vitesses: `python -m tests.simulation.vitess.seeds --seed 17` tells of one.

A seed that breaks a promise is named with the command that plays it again.
"""

from __future__ import annotations

import sys

from tests.simulation.playing import complaint_of, play_seeds, quietly
from tests.simulation.vitess.federated.random_history import STEPS, Outcome, play
from tests.simulation.vitess.federated.random_world import RandomVitess

_MODULE = "tests.simulation.vitess.seeds"


def complaint(outcome: Outcome) -> str:
    """Say what a seed broke, what had happened until then, and how to see it again."""
    return complaint_of(_MODULE, outcome)


def play_quietly(seed: int, steps: int = STEPS, kind: type[RandomVitess] = RandomVitess) -> Outcome:
    """Play a seed without the control plane's own log."""
    with quietly():
        return play(seed, steps, kind)


if __name__ == "__main__":
    sys.exit(play_seeds(_MODULE, __doc__, play_quietly))
