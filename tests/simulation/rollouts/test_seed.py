"""The seed's Application in a whole federation on virtual time; tests/kubernetes/rollouts has it on real clusters."""

import pytest

from tests.behaviour.rollouts import CLUSTER, the_seeds_application_goes_through_its_steps
from tests.simulation.rollouts.applications import MadeCharts
from tests.simulation.rollouts.world import rollouts

pytestmark = pytest.mark.looptime


async def test_the_seeds_application_goes_through_its_steps_and_then_nothing_is_written():
    async with rollouts(sources=lambda _host: MadeCharts()) as world:

        async def join():
            await world.add_member(CLUSTER, 0)
            return world.inside(CLUSTER)

        await the_seeds_application_goes_through_its_steps(world.people, join)
        await world.runtime.sleep(5)
        world.forget_writes()
        await world.runtime.sleep(30)
        assert world.writes() == {}
