"""Random federated Vitesses; `make soak` plays hundreds, `make soak-guards` some that lack a guard."""

import pytest

from tests.simulation.vitess.seeds import complaint, play_quietly

# Short ones: what a world costs is its beginning and its end.
STEPS = 6


@pytest.mark.parametrize("seed", [37])
def test_in_a_random_world_nothing_is_lost_and_one_primary_leads(seed):
    outcome = play_quietly(seed, STEPS)

    assert not outcome.found, complaint(outcome)
    assert len(outcome.story) > 1
