"""Replicas for which a cluster has no room go elsewhere after a minute; 40 and 41 are lines of the fact sheet."""

import pytest

from hanse.api.names import DEPLOYMENT_PREFERENCES_ANNOTATION
from hanse.kube.conditions import is_true
from hanse.kube.manifest import dig, name_of
from hanse.kube.resources import DEPLOYMENTS, NODES
from hanse.native import NativeDoor
from hanse.propagation.waiting_pods import look_for_room
from tests.simulation.world import deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

STAYS = {DEPLOYMENT_PREFERENCES_ANNOTATION: '{"rebalance": false, "clusters": {"*": {"weight": 1}}}'}


async def asked(world):
    found = {name: await world.find(name, DEPLOYMENTS, "web") for name in world.clusters}
    return {name: dig(obj, "spec", "replicas") for name, obj in found.items()}


async def asks(world, **wanted):
    return await asked(world) == wanted


async def closed(world, name, *, closed=True):
    """Let the nodes of a cluster take no more pods, or take them again."""
    for node in (await world.clients[name].list(NODES)).items:
        await world.clients[name].patch(NODES, name_of(node), {"spec": {"unschedulable": closed}})


async def scaled(world, replicas):
    await world.host.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, "default")


async def is_available(world):
    source = await world.host.get(DEPLOYMENTS, "web", "default")
    return is_true(dig(source, "status", "conditions"), "Available")


async def test_what_waits_for_room_runs_elsewhere_after_a_minute_and_comes_back_when_there_is_room():
    async with federation("a", "b") as world:
        await world.host.create(DEPLOYMENTS, deployment(replicas=6))
        await world.until(lambda: asks(world, a=3, b=3))
        await world.until(lambda: is_available(world))
        await closed(world, "a")
        await scaled(world, 8)
        await world.until(lambda: asks(world, a=4, b=4))
        await world.runtime.sleep(50)
        assert await asked(world) == {"a": 4, "b": 4}, "a cluster may be growing"

        await world.until(lambda: asks(world, a=4, b=5), 20)
        await world.until(lambda: is_available(world), 10)
        status = (await world.host.get(DEPLOYMENTS, "web", "default"))["status"]
        assert (status["replicas"], status["updatedReplicas"], status["availableReplicas"]) == (8, 8, 8)

        source, copy = [await world.clients[name].get(DEPLOYMENTS, "web", "default") for name in ("host", "a")]
        intent = NativeDoor().translate(source)
        assert await look_for_room(world.clients["a"], intent, copy, world.runtime.now()) == 3, "explain says the same"

        await world.runtime.sleep(30)
        world.forget_writes()
        await world.runtime.sleep(90)
        assert world.writes() == {}, "it rests there"

        await closed(world, "a", closed=False)
        await world.until(lambda: asks(world, a=4, b=4))
        await world.until(lambda: is_available(world))


async def test_what_runs_stays_where_preferences_say_so_and_the_rest_goes_where_there_is_room():
    async with federation("a", "b") as world:
        await world.host.create(DEPLOYMENTS, deployment(replicas=6, **STAYS))
        await world.until(lambda: asks(world, a=3, b=3))
        await world.until(lambda: is_available(world))
        await closed(world, "a")
        await scaled(world, 8)
        await world.until(lambda: asks(world, a=4, b=4))

        await world.until(lambda: asks(world, a=3, b=5), 90)
        await world.runtime.sleep(90)
        assert await asked(world) == {"a": 3, "b": 5}
