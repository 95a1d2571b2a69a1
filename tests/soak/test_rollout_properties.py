"""Rollouts in some thousands of worlds of chance (`make soak`)."""

import pytest

from hanse.rollouts.execution import execute
from tests.unit.rollouts.execution.broken_executors import BROKEN, SUBTLE
from tests.unit.rollouts.execution.model import Broken, World

pytestmark = pytest.mark.timeout(1800)

WORLDS = 1000
ENOUGH = 1000


@pytest.mark.parametrize("restless", [False, True], ids=("people with plans", "restless people"))
@pytest.mark.parametrize("orderly", [True, False], ids=("orderly strategies", "any strategies"))
def test_a_rollout_gives_before_it_takes_and_ends_where_the_last_step_says(orderly, restless):
    found = {}
    for seed in range(1000, 1000 + WORLDS):
        try:
            World(seed, execute, orderly=orderly, restless=restless).live()
        except Broken as error:
            found[seed] = str(error)

    assert found == {}


@pytest.mark.parametrize("broken", [*BROKEN, *SUBTLE], ids=lambda broken: broken.__name__)
def test_an_executor_that_is_wrong_is_caught(broken):
    assert any(_goes_wrong(seed, broken) for seed in range(1000, 1000 + ENOUGH))


def _goes_wrong(seed, broken):
    try:
        World(seed, broken, restless=seed % 2 == 1).live()
    except Broken:
        return True
    return False
