"""Rollouts in which people change their minds and the control plane dies at any request, many of them (`make soak`)."""

import pytest

from hanse.simulator.virtual_time import run_virtually
from tests.simulation.playing import quietly
from tests.simulation.rollouts.crashing import live_through
from tests.simulation.rollouts.scenarios import ALONE, TOGETHER, play
from tests.simulation.rollouts.world import rollouts

pytestmark = pytest.mark.timeout(1800)

SEEDS = 64
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_a_control_plane_that_dies_during_a_rollout_brings_it_to_the_same_end(part):
    deaths = 0
    for seed in range(100 + part, 100 + SEEDS, PARTS):
        with quietly():
            outcome = live_through(seed)
        assert not outcome.found, f"seed {seed}: {outcome.found}"
        deaths += outcome.deaths

    assert deaths >= SEEDS // PARTS


def test_rollouts_take_whatever_people_and_clusters_do():
    async def all_of_it():
        async with rollouts("a", "b", seed=5) as world:
            await play(world, together=TOGETHER, alone=ALONE)

    with quietly():
        run_virtually(all_of_it)
