"""Rollouts in which people change their minds and the control plane dies at any request, many of them (`make soak`)."""

import pytest

from tests.simulation.rollouts.crashing import live_through
from tests.simulation.seeds import quietly

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
