"""Rollouts through everything that people and clusters do, one after the other (`make soak-guards`)."""

import pytest

from hanse.simulator.virtual_time import run_virtually
from tests.simulation.playing import quietly
from tests.simulation.rollouts.scenarios import ALONE, TOGETHER, play
from tests.simulation.rollouts.world import rollouts

pytestmark = pytest.mark.timeout(1800)


def test_rollouts_take_whatever_people_and_clusters_do():
    async def all_of_it():
        async with rollouts("a", "b", seed=5) as world:
            await play(world, together=TOGETHER, alone=ALONE)

    with quietly():
        run_virtually(all_of_it)
