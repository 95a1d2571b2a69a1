"""Traffic follows moves: clients are led away from a cluster before the last replicas leave it."""

import json

import pytest

from hanse.api.federation import FEDERATIONS, federation_manifest
from hanse.api.names import DEPLOYMENT_PREFERENCES_ANNOTATION
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.manifest import dig
from hanse.kube.resources import DEPLOYMENTS, SERVICES
from hanse.services.addresses import parse_addresses
from hanse.services.departures import DRAIN_SECONDS
from tests.simulation.world import deployment, federation

LOOK_SECONDS = 0.5

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


def only(*clusters):
    text = json.dumps({"rebalance": True, "clusters": {name: {"weight": 1} for name in clusters}})
    return {DEPLOYMENT_PREFERENCES_ANNOTATION: text}


async def begin(world, *clusters):
    await world.host.create(FEDERATIONS, federation_manifest("fed", "example.com"))
    await world.host.create(DEPLOYMENTS, deployment(replicas=4, **only(*clusters)))
    spec = {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80, "protocol": "TCP"}]}
    metadata = {"name": "web", "namespace": "default"}
    await world.host.create(SERVICES, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})


async def move(world, *clusters):
    await world.host.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": only(*clusters)}}, "default")


async def serving(world):
    found = await world.host.find(SERVICE_ADDRESSES, "web", "default")
    return "" if found is None else "".join(each.cluster for each in parse_addresses(found).serving)


async def replicas(world, cluster):
    found = await world.find(cluster, DEPLOYMENTS, "web", "default")
    return 0 if found is None else dig(found, "spec", "replicas", default=0)


async def until_serving(world, clusters):
    async def served():
        return await serving(world) == clusters

    return await world.until(served, 60.0)


async def watched(world, cluster, seconds=60.0):
    """Look until a cluster has no replicas any more; return what was seen on the way: replicas, and who serves."""
    seen = []
    for _ in range(int(seconds / LOOK_SECONDS)):
        seen.append((await replicas(world, cluster), await serving(world)))
        if not seen[-1][0]:
            return seen
        await world.runtime.sleep(LOOK_SECONDS)
    raise AssertionError(seen[-1])


async def test_clients_are_led_away_before_the_last_replicas_leave_and_come_back_with_them():
    async with federation("a", "b") as world:
        await begin(world, "a", "b")
        await until_serving(world, "ab")

        await move(world, "b")
        seen = await watched(world, "a")
        assert {who for _, who in seen} == {"ab", "b"}
        assert seen[-1][1] == "b"
        drained = [who for _, who in seen].count("b") * LOOK_SECONDS
        assert drained >= DRAIN_SECONDS - 2 * LOOK_SECONDS, "the pods are there, and nobody is led to them"
        await world.runtime.sleep(10)
        assert await serving(world) == "b"

        await move(world, "a", "b")
        await until_serving(world, "ab")
        await world.host.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}}, "default")
        seen = await watched(world, "a")
        assert len(seen) * LOOK_SECONDS < DRAIN_SECONDS, "what goes everywhere has nowhere to lead clients to"
