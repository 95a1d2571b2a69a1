"""Clusters that are lost and come back, on virtual time."""

import pytest

from hanse.api.names import SINGLETON_ANNOTATION
from hanse.api.policies import PLACEMENT_POLICIES
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import dig
from hanse.kube.resources import DEPLOYMENTS
from tests.simulation.world import deployment, federation
from tests.unit.placement.policy_cases import policy

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

# Longer than a cluster may take to join: whoever is ready later than this was lost before.
SETTLED_SECONDS = 31


async def spread_is(world, **wanted):
    return await world.spread() == wanted


async def asked(world, *clusters):
    found = {name: await world.find(name, DEPLOYMENTS, "web") for name in clusters}
    return {name: dig(obj, "spec", "replicas") for name, obj in found.items()}


async def told(world, sentence):
    source = await world.host.get(DEPLOYMENTS, "web", "default")
    return sentence in (find_condition(dig(source, "status", "conditions"), "Propagated") or {}).get("message", "")


async def test_a_cluster_that_comes_and_goes_moves_nothing_twice_and_one_that_stays_gets_its_share():
    async with federation() as world:
        await world.host.create(DEPLOYMENTS, deployment())
        await world.until(lambda: spread_is(world, a=3, b=3, c=3))
        await world.runtime.sleep(SETTLED_SECONDS)
        await world.fail("c")
        await world.until(lambda: _taken_over(world))
        taken_over = await asked(world, "a", "b")

        moves = set()
        for _ in range(2):
            world.heal("c")
            await world.until(lambda: world.cluster_is("c", "Ready"))
            await world.runtime.sleep(5)
            moves.add(tuple((await asked(world, "a", "b")).items()))
            await world.fail("c")
            await world.until(lambda: world.cluster_is("c", "Offline"))
            moves.add(tuple((await asked(world, "a", "b")).items()))
        assert moves == {tuple(taken_over.items())}

        world.heal("c")
        await world.until(lambda: world.cluster_is("c", "Ready"))
        took = await world.until(lambda: spread_is(world, a=3, b=3, c=3))
        assert took >= 9


async def _taken_over(world):
    return await world.available("a", "b") == 9


async def test_a_singleton_stays_with_a_lost_cluster_unless_its_policy_says_always():
    async with federation("a", "b") as world:
        await world.host.create(DEPLOYMENTS, deployment(replicas=1, **{SINGLETON_ANNOTATION: "true"}))
        await world.until(lambda: _available(world, 1))
        (home,) = [name for name, count in (await asked(world, "a", "b")).items() if count]
        other = "b" if home == "a" else "a"

        await world.fail(home)
        await world.until(lambda: told(world, f"1 replicas may still run in {home}, which cannot be asked"))
        await world.runtime.sleep(30)
        assert await world.available(other) == 0

        always = policy(PLACEMENT_POLICIES, "always", failover={"always": True})
        await world.host.create(PLACEMENT_POLICIES, always)
        took = await world.until(lambda: _available(world, 1, other))
        assert took <= 30


async def _available(world, count, *clusters):
    return await world.available(*clusters) == count


async def test_a_singleton_that_is_moved_never_runs_twice():
    async with federation("a", "b") as world:
        home = policy(PLACEMENT_POLICIES, "home", clusters={"names": ["a"]})
        made = await world.host.create(PLACEMENT_POLICIES, home)
        await world.host.create(DEPLOYMENTS, deployment(replicas=1, **{SINGLETON_ANNOTATION: "true"}))
        await world.until(lambda: _available(world, 1, "a"))
        most = [1]

        await world.host.update(PLACEMENT_POLICIES, {**made, "spec": {**made["spec"], "clusters": {"names": ["b"]}}})

        async def moved():
            found = [await world.find(name, DEPLOYMENTS, "web") for name in "ab"]
            most.append(sum(dig(obj, "status", "replicas", default=0) for obj in found))
            return await world.available("b") == 1

        await world.until(moved)
        assert max(most) == 1
