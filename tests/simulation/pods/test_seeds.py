"""Random worlds of pods that run elsewhere; `make soak` plays hundreds, `make soak-guards` doors that lack a guard."""

import pytest

from tests.simulation.pods.seeds import complaint, play_quietly

# Short ones: what a world costs is its beginning and its end.
STEPS = 5


@pytest.mark.parametrize("seed", [10])
def test_in_a_random_world_no_pod_runs_twice_none_is_lost_and_nothing_is_left_behind(seed):
    outcome = play_quietly(seed, STEPS)

    assert not outcome.found, complaint(outcome)
    assert len(outcome.story) > STEPS


def test_nothing_is_steady_while_a_pod_that_somebody_touched_is_yet_to_end_and_to_leave_its_room():
    outcome = play_quietly(60053)

    assert not outcome.found, complaint(outcome)
