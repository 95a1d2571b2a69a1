"""What people and clusters do while releases roll out, all in one federation: to start one takes long."""

import pytest

from tests.simulation.rollouts.scenarios import TOGETHER, play
from tests.simulation.rollouts.world import rollouts

pytestmark = pytest.mark.looptime


async def test_rollouts_take_what_people_and_clusters_do_and_clients_are_led_to_enough_pods():
    async with rollouts("a", "b") as world:
        await play(world, together=TOGETHER)
