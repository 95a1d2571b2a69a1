"""A change that reaches too far waits for a person, on virtual time."""

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.held_changes import HELD_CHANGES
from hanse.api.names import STATUS_ANNOTATION
from hanse.api.policies import CLUSTER_PLACEMENT_POLICIES
from hanse.cli.approve import approve, list_waiting
from hanse.kube.manifest import annotations_of
from hanse.kube.resources import CONFIGMAPS, EVENTS
from tests.simulation.world import config, federation
from tests.unit.placement.policy_cases import policy

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

COUNT = 24


async def managed(world, cluster):
    return len(await world.managed(cluster, CONFIGMAPS))


async def managed_is(world, **wanted):
    return {name: await managed(world, name) for name in wanted} == wanted


async def held(world):
    return await world.host.find(HELD_CHANGES, "native")


async def fill(world, count=COUNT):
    for number in range(count):
        await world.host.create(CONFIGMAPS, config(f"c{number:02}"))
    await world.until(lambda: managed_is(world, a=count, b=count))


def only(name):
    selects = [{"kind": "ConfigMap"}]
    return policy(CLUSTER_PLACEMENT_POLICIES, "narrow", selects=selects, clusters={"names": [name]})


async def told(world, sentence):
    source = await world.host.get(CONFIGMAPS, "c00", "default")
    return sentence in annotations_of(source).get(STATUS_ANNOTATION, "")


async def test_a_policy_that_empties_a_cluster_is_held_told_and_done_once_approved_whatever_crashes():
    async with federation("a", "b") as world:
        await fill(world)
        await world.host.create(CLUSTER_PLACEMENT_POLICIES, only("a"))

        await world.until(lambda: held(world))
        await world.until(lambda: told(world, "`hanse approve native` lets it go on"))
        await world.runtime.sleep(10)
        assert await managed_is(world, a=COUNT, b=COUNT)
        change = await held(world)
        assert change["spec"]["clusters"] == [{"name": "b", "objects": COUNT}]
        assert (change["spec"]["objects"], change["spec"]["approved"]) == (COUNT, False)
        reasons = [event["reason"] for event in (await world.host.list(EVENTS, "default")).items]
        assert "ChangeHeld" in reasons

        # Who starts anew holds it still, and touches no member.
        await world.kill_control_plane()
        world.forget_writes()
        world.start_control_plane()
        await world.runtime.sleep(15)
        assert await managed_is(world, a=COUNT, b=COUNT)
        assert not {"a", "b"} & world.writes().keys()

        # An approval outlives a crash in the middle of what it lets happen.
        (waiting,) = await list_waiting(world.host)
        assert waiting.why == f"{COUNT} of {COUNT} objects would leave clusters that have them: b ({COUNT})"
        await approve(world.host, ("native",), dry_run=True)
        assert not (await held(world))["spec"]["approved"]
        await approve(world.host, ("native",))
        await world.until(lambda: _fewer(world, "b"))
        await world.kill_control_plane()
        world.start_control_plane()
        await world.until(lambda: managed_is(world, a=COUNT, b=0))
        await world.until(lambda: _withdrawn(world))
        await world.until(lambda: _silent(world))


async def _fewer(world, cluster):
    return await managed(world, cluster) < COUNT


async def _withdrawn(world):
    return await held(world) is None


async def _silent(world):
    return not await told(world, "hanse approve")


async def test_undoing_the_change_ends_it():
    async with federation("a", "b") as world:
        await fill(world)
        await world.host.create(CLUSTER_PLACEMENT_POLICIES, only("a"))
        await world.until(lambda: held(world))

        await world.host.delete(CLUSTER_PLACEMENT_POLICIES, "narrow")

        await world.until(lambda: _withdrawn(world))
        assert await managed_is(world, a=COUNT, b=COUNT)


async def test_what_is_small_or_named_or_lost_is_not_held():
    async with federation("a", "b") as world:
        await fill(world)

        # Every one of them is deleted by its name.
        for number in range(COUNT):
            await world.host.delete(CONFIGMAPS, f"c{number:02}", "default")
        await world.until(lambda: managed_is(world, a=0, b=0))

        # Nineteen of nineteen are all, and few.
        await fill(world, 19)
        await world.host.create(CLUSTER_PLACEMENT_POLICIES, only("a"))
        await world.until(lambda: managed_is(world, a=19, b=0))
        assert await held(world) is None


async def test_a_policy_that_names_no_cluster_and_a_registry_that_is_empty_take_nothing_away():
    async with federation("a", "b") as world:
        await fill(world, 3)
        await world.host.create(CLUSTER_PLACEMENT_POLICIES, only("nowhere"))
        sentence = "no cluster is chosen: a, b: only nowhere may be used; what is there stays"
        await world.until(lambda: told(world, sentence))
        await world.runtime.sleep(10)
        assert await managed_is(world, a=3, b=3)

        for name in "ab":
            await world.host.delete(CLUSTERS, name)
        await world.runtime.sleep(20)

        assert await managed_is(world, a=3, b=3)
