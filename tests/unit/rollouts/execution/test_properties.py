"""Rollouts in worlds of chance: whatever happens, clients are served and the end is the same (see `model`).

`make soak` tries many more worlds (`tests/soak`).
"""

import pytest

from hanse.rollouts.execution import execute
from tests.unit.rollouts.execution.broken_executors import BROKEN
from tests.unit.rollouts.execution.model import Broken, World

WORLDS = 14


@pytest.mark.parametrize("orderly", [True, False], ids=("orderly strategies", "any strategies"))
def test_a_rollout_gives_before_it_takes_and_ends_where_the_last_step_says(orderly):
    moved = 0
    for seed in range(WORLDS):
        world = World(seed, execute, orderly=orderly, restless=seed % 2 == 1)
        world.live()
        moved += world.patches

    assert moved > 5 * WORLDS, "the worlds are too quiet to try anything"


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_an_executor_that_is_wrong_is_caught(broken):
    assert any(_goes_wrong(seed, broken) for seed in range(WORLDS))


def _goes_wrong(seed, broken):
    try:
        World(seed, broken, restless=seed % 2 == 1).live()
    except Broken:
        return True
    return False
