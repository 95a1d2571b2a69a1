"""Pods that run elsewhere, from their creation to their end, in whole federations on virtual time."""

from __future__ import annotations

import pytest

from hanse.kube.manifest import dig
from hanse.kube.resources import DEPLOYMENTS, PODS
from tests.simulation.pods.world import ELECT, elected_pod, sending
from tests.simulation.world import deployment

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def test_a_bare_pod_runs_elsewhere_and_shows_it_at_home():
    async with sending("home", "away") as world:
        await world.clients["home"].create(PODS, elected_pod("one"))
        await world.until(lambda: world.runs_in("home", "one"))
        pod = await world.find("home", PODS, "one")
        assert pod["spec"]["nodeName"].startswith("admiralty-")
        assert await world.runs_in("home", "one") == "away"
        await world.clients["home"].delete(PODS, "one", "default")
        await world.until(lambda: _gone(world, "one"))
        assert await world.leftovers() == []


async def test_a_deployment_of_ten_is_available_at_home():
    async with sending("home", "away", "far") as world:
        web = deployment(replicas=10)
        web["spec"]["template"]["metadata"]["annotations"] = {ELECT: ""}
        await world.clients["home"].create(DEPLOYMENTS, web)
        await world.until(lambda: _available(world, 10))
        found = await world.delegates("home")
        assert len(found) == 10
        assert all(len(each) == 1 for each in found.values())
        await world.clients["home"].delete(DEPLOYMENTS, "web", "default")
        await world.until(lambda: _nothing_left(world))


async def _gone(world, name):
    return await world.find("home", PODS, name) is None


async def _available(world, count):
    found = await world.find("home", DEPLOYMENTS, "web")
    return dig(found, "status", "availableReplicas") == count


async def _nothing_left(world):
    return not await world.placeholders("home") and not await world.leftovers()
