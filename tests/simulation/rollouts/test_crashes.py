"""The control plane dies while a release rolls out; `make soak` plays many more of these (`tests/soak`)."""

from tests.simulation.playing import quietly
from tests.simulation.rollouts.crashing import live_through


def test_a_control_plane_that_dies_during_a_rollout_brings_it_to_the_same_end():
    with quietly():
        outcome = live_through(103)

    assert outcome.deaths
    assert outcome.found == []
