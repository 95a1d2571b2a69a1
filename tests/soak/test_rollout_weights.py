"""Rollouts by weights: the control plane dies at any request, and resolvers keep what they were told (`make soak`)."""

import pytest

from tests.simulation.playing import quietly
from tests.simulation.rollouts.resolvers import live_through_by_weights

pytestmark = pytest.mark.timeout(1800)

SEEDS = 32
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_whoever_was_told_an_address_finds_pods_there_until_the_answer_is_old(part):
    deaths = 0
    for seed in range(500 + part, 500 + SEEDS, PARTS):
        with quietly():
            outcome = live_through_by_weights(seed)
        assert not outcome.found, f"seed {seed}: {outcome.found[:3]}"
        deaths += outcome.deaths

    assert deaths >= SEEDS // PARTS
