"""The control plane dies while a release rolls out; `make soak` plays many more of these (`tests/soak`)."""

from tests.simulation.playing import quietly
from tests.simulation.rollouts.crashing import live_through


def test_a_control_plane_that_dies_during_a_rollout_brings_it_to_the_same_end():
    with quietly():
        outcome = live_through(103)

    assert outcome.deaths
    assert outcome.found == []


def test_a_contender_that_was_stepped_back_and_replaced_while_a_cluster_was_away_serves_there_until_another_does():
    with quietly():
        outcome = live_through(60160)

    assert outcome.found == []
