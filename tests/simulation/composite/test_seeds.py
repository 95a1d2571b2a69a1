"""Random worlds of lambda controllers; `make soak` plays hundreds, `make soak-guards` controllers that lack a guard."""

import pytest

from tests.simulation.composite.seeds import complaint, play_quietly

# Short ones: what a world costs is its beginning and its end.
STEPS = 6


@pytest.mark.parametrize("seed", [11])
def test_in_a_random_world_children_become_what_the_hook_says_and_nothing_else_is_touched(seed):
    outcome = play_quietly(seed, STEPS)

    assert not outcome.found, complaint(outcome)
    assert len(outcome.story) > STEPS
