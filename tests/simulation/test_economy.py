"""How many requests a change costs: one in each member."""

import pytest

from hanse.kube.manifest import dig
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS
from tests.simulation.world import config, deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def placed(world, resource, obj):
    await world.host.create(resource, obj)
    for name in "abc":
        await world.until(lambda name=name: found(world, name, resource, obj["metadata"]["name"]))
    await world.runtime.sleep(20)
    world.forget_writes()


async def found(world, cluster, resource, name):
    return await world.find(cluster, resource, name) is not None


def member_writes(world):
    return {name: [verb for verb, _path in calls] for name, calls in world.writes().items() if name != "host"}


@pytest.mark.parametrize("patch", [{"size": "xl"}, {"color": None, "size": "s"}], ids=["a field added", "a field gone"])
async def test_an_edit_costs_one_write_a_member(patch):
    async with federation() as world:
        await placed(world, CONFIGMAPS, config())

        await world.host.patch(CONFIGMAPS, "settings", {"data": patch}, "default")
        await world.runtime.sleep(20)

        assert member_writes(world) == {"a": ["PUT"], "b": ["PUT"], "c": ["PUT"]}
        copies = [await world.find(name, CONFIGMAPS, "settings") for name in "abc"]
        expected = {name: value for name, value in {**config()["data"], **patch}.items() if value is not None}
        assert [copy["data"] for copy in copies] == [expected] * 3


async def test_a_deletion_costs_one_write_a_member():
    async with federation() as world:
        await placed(world, CONFIGMAPS, config())

        await world.host.delete(CONFIGMAPS, "settings", "default")
        await world.runtime.sleep(20)

        assert member_writes(world) == {"a": ["DELETE"], "b": ["DELETE"], "c": ["DELETE"]}
        assert await world.find("host", CONFIGMAPS, "settings") is None


async def test_a_change_that_does_not_go_with_a_default_of_the_member_is_applied_all_the_same():
    async with federation() as world:
        await placed(world, DEPLOYMENTS, deployment(replicas=3))

        patch = {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}}
        await world.host.patch(DEPLOYMENTS, "web", patch, "default")
        await world.runtime.sleep(20)

        copies = [await world.find(name, DEPLOYMENTS, "web") for name in "abc"]
        assert [dig(copy, "spec", "strategy") for copy in copies] == [{"type": "Recreate"}] * 3


async def test_a_name_that_somebody_else_has_is_looked_at_and_not_written_again():
    async with federation() as world:
        await world.clients["b"].create(CONFIGMAPS, config(color="theirs"))
        await world.host.create(CONFIGMAPS, config(color="ours"))
        await world.runtime.sleep(30)
        world.forget_writes()

        await world.runtime.sleep(60)
        written = world.writes()
        await world.clients["b"].delete(CONFIGMAPS, "settings", "default")
        await world.runtime.sleep(20)

        assert written == {}
        assert (await world.find("b", CONFIGMAPS, "settings"))["data"] == {"color": "ours"}
