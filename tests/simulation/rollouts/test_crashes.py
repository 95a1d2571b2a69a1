"""The control plane dies while a release rolls out; `make soak` plays many more of these (`tests/soak`)."""

import pytest

from tests.simulation.rollouts.crashing import live_through
from tests.simulation.seeds import quietly


@pytest.mark.parametrize("seed", [1])
def test_a_control_plane_that_dies_during_a_rollout_brings_it_to_the_same_end(seed):
    with quietly():
        outcome = live_through(seed)

    assert outcome.deaths
    assert outcome.found == []
