"""A disruption budget that counts pods means on the federation what it means on a cluster; on virtual time."""

import pytest

from hanse.api.plain_kinds import DISRUPTION_BUDGETS
from hanse.kube.manifest import dig
from hanse.kube.resources import DEPLOYMENTS
from tests.simulation.world import deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def parts(world):
    found = {name: await world.find(name, DISRUPTION_BUDGETS, "web") for name in world.clusters}
    return {name: dig(obj, "spec", "minAvailable") for name, obj in found.items()}


async def test_what_must_stay_available_is_divided_by_the_pods_of_each_cluster_and_follows_them():
    async with federation("a", "b") as world:
        budget = {
            "apiVersion": DISRUPTION_BUDGETS.api_version,
            "kind": DISRUPTION_BUDGETS.kind,
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"minAvailable": 4, "selector": {"matchLabels": {"app": "web"}}},
        }
        await world.host.create(DEPLOYMENTS, deployment(replicas=6))
        await world.host.create(DISRUPTION_BUDGETS, budget)

        async def divided():
            status = (await world.host.get(DISRUPTION_BUDGETS, "web", "default")).get("status") or {}
            return await parts(world) == {"a": 2, "b": 2} and status.get("disruptionsAllowed") == 2

        await world.until(divided)
        await world.runtime.sleep(10)
        world.forget_writes()
        await world.runtime.sleep(20)
        assert world.writes() == {}

        await world.host.patch(DISRUPTION_BUDGETS, "web", {"spec": {"minAvailable": "50%"}}, "default")

        async def copied():
            return await parts(world) == {"a": "50%", "b": "50%"}

        await world.until(copied)
