"""Copies change hands while the control plane dies at each of its requests (`make soak-guards`)."""

import pytest

from hanse.api.kubefed.forms import FORM_D
from tests.simulation.handover import hand_over_and_die
from tests.simulation.world import federation

pytestmark = pytest.mark.timeout(1800)


@pytest.mark.looptime
@pytest.mark.parametrize("deleted", [True, False], ids=("deleted", "let go"))
async def test_copies_change_hands_wherever_the_control_plane_dies(deleted):
    async with federation("a", "b", forms=(FORM_D,)) as world:
        request = 1
        while await hand_over_and_die(world, request, deleted=deleted):
            request += 1

    assert request > 4, "a hand-over takes a write in every cluster, a finalizer put on and one taken off"
