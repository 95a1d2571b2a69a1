"""The first Vitess operator under whatever happens; `make soak` plays hundreds of such histories."""

import pytest

from tests.simulation.vitess.first_history import play

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(120)]


@pytest.mark.parametrize("seed", [29])
async def test_whatever_happens_a_rollout_touches_no_primary_and_all_ends_as_it_was_asked_for(seed):
    assert await play(seed, steps=5) == []


@pytest.mark.parametrize("seed", [50032])
async def test_a_further_change_goes_on_in_the_cell_that_it_overtook(seed):
    assert await play(seed) == []
