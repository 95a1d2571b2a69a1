"""Random worlds in which every promise must hold.

`make test` plays a few seeds; `make soak` plays five hundred, and control planes that lack a guard (`tests/soak`).
"""

import pytest

from tests.simulation.random_history import STEPS
from tests.simulation.seeds import complaint, play_quietly

SEEDS = (0, 4, 5, 9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_world_keeps_every_promise(seed):
    outcome = play_quietly(seed)

    assert not outcome.found, complaint(outcome)
    assert len(outcome.story) > STEPS


def test_the_same_seed_is_the_same_world():
    assert play_quietly(3, steps=2) == play_quietly(3, steps=2)
