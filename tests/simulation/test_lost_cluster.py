"""A cluster is lost while people are at work, and comes back while the control plane is killed."""

import asyncio

import pytest

from hanse.kube.manifest import dig
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from tests.simulation.world import config, deployment, federation

pytestmark = pytest.mark.looptime

REPLACED_WITHIN_SECONDS = 30
# Somebody writes as often, every two seconds, from well before the loss until well after the return.
ROUNDS = 60


async def test_its_replicas_run_elsewhere_in_time_and_come_back_without_going_to_and_fro():
    async with federation() as world:
        await world.host.create(DEPLOYMENTS, deployment())
        await world.until(lambda: is_spread(world, a=3, b=3, c=3))
        people = asyncio.create_task(write(world))
        await world.runtime.sleep(31)

        await world.fail("c")
        took = await world.until(lambda: is_replaced(world))
        assert took <= REPLACED_WITHIN_SECONDS

        before = await asked(world)
        world.heal("c")
        await restart(world)
        await world.until(lambda: is_spread(world, a=3, b=3, c=3), seconds=90)
        await people
        await world.until(lambda: is_written(world))

        after = await asked(world)
        for cluster, (replicas, generation) in before.items():
            # Each change of a spec counts in its generation: more than the replicas that left were a way to and fro.
            assert after[cluster][0] == 3
            assert after[cluster][1] - generation <= replicas - 3


async def restart(world):
    await world.runtime.sleep(1)
    await world.kill_control_plane()
    world.start_control_plane()


async def write(world):
    await world.host.create(CONFIGMAPS, config(round="0"))
    for number in range(1, ROUNDS + 1):
        await world.runtime.sleep(2)
        await world.host.patch(CONFIGMAPS, "settings", {"data": {"round": str(number)}}, "default")


async def is_written(world):
    copy = await world.find("c", CONFIGMAPS, "settings")
    return dig(copy, "data", "round") == str(ROUNDS)


async def is_spread(world, **wanted):
    return await world.spread() == wanted


async def is_replaced(world):
    return await world.available("a", "b") == 9


async def asked(world):
    """Return the replicas and the generation of the copy in each cluster that stayed."""
    found = {cluster: await world.find(cluster, DEPLOYMENTS, "web") for cluster in "ab"}
    return {cluster: (obj["spec"]["replicas"], obj["metadata"]["generation"]) for cluster, obj in found.items()}
