"""Lines of docs/reference/federation-v1.md that need a whole federation, on virtual time; numbers are those lines."""

import pytest

from hanse.api.plain_kinds import AUTOSCALERS
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import dig
from hanse.kube.resources import SECRETS, SERVICES
from tests.simulation.world import federation

pytestmark = pytest.mark.looptime


def made(resource, name, **fields):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}


def autoscaler(name, low, high, kind="Deployment"):
    target = {"apiVersion": "apps/v1", "kind": kind, "name": "web"}
    return made(
        AUTOSCALERS, name, spec={"scaleTargetRef": target, "minReplicas": low, "maxReplicas": high, "metrics": []}
    )


async def copies(world, resource, name):
    found = {cluster: await world.find(cluster, resource, name) for cluster in world.clusters}
    return {cluster: obj for cluster, obj in found.items() if obj is not None}


async def limits(world, name="web"):
    found = await copies(world, AUTOSCALERS, name)
    return {cluster: (obj["spec"]["minReplicas"], obj["spec"]["maxReplicas"]) for cluster, obj in found.items()}


async def propagated(world, resource, name):
    source = await world.host.get(resource, name, "default")
    return find_condition(dig(source, "status", "conditions"), "Propagated") or {}


async def test_the_limits_of_an_autoscaler_add_up_whatever_becomes_of_it():
    """Lines 53, 54, 57, 58, 59 and 60: also without a target, which may come later."""
    async with federation() as world:
        await world.host.create(AUTOSCALERS, autoscaler("web", 4, 10))
        await world.host.create(AUTOSCALERS, autoscaler("small", 1, 3))

        async def divided():
            return await limits(world) == {"a": (2, 4), "b": (1, 3), "c": (1, 3)} and await limits(world, "small") == {
                "a": (1, 2),
                "b": (1, 1),
            }

        await world.until(divided)

        await world.host.patch(AUTOSCALERS, "web", {"spec": {"minReplicas": 14, "maxReplicas": 14}}, "default")

        async def raised():
            found = (await limits(world)).values()
            return sum(low for low, _ in found) == sum(high for _, high in found) == 14

        await world.until(raised)

        await world.host.create(AUTOSCALERS, autoscaler("odd", 1, 3, kind="StatefulSet"))

        async def refused():
            return (await propagated(world, AUTOSCALERS, "odd")).get("reason") == "InvalidTarget"

        await world.until(refused)
        assert await copies(world, AUTOSCALERS, "odd") == {}

        for name in "abc":
            await world.fail(name)
            await world.until(lambda name=name: world.cluster_is(name, "Offline"))
        await world.host.create(AUTOSCALERS, autoscaler("late", 1, 10))

        async def told():
            return (await propagated(world, AUTOSCALERS, "late")).get("status") == "False"

        await world.until(told)
        for name in "abc":
            world.heal(name)
        await world.until(lambda: placed(world, AUTOSCALERS, "late", 3))


async def placed(world, resource, name, count):
    return len(await copies(world, resource, name)) == count


async def test_secrets_and_services_are_in_every_ready_cluster_and_in_one_that_joins():
    """Lines 61, 63, 79, 80 and 81."""
    async with federation("a", "b") as world:
        key = {"password": "czNjcmV0"}
        await world.host.create(SECRETS, made(SECRETS, "key", type="Opaque", data=key))
        ports = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
        await world.host.create(SERVICES, made(SERVICES, "inner", spec=ports))
        await world.host.create(SERVICES, made(SERVICES, "outer", spec={**ports, "type": "LoadBalancer"}))
        await world.until(lambda: holds(world, "ab", key))

        changed = {"password": "bmV3"}
        await world.host.patch(SECRETS, "key", {"data": changed}, "default")
        assert await world.until(lambda: holds(world, "ab", changed)) <= 2

        await world.add_member("c", 2)
        assert await world.until(lambda: holds(world, "abc", changed)) <= 23
        await world.until(lambda: placed(world, SERVICES, "inner", 3))
        await world.until(lambda: addressed(world, "outer", 3))
        assert await addressed(world, "inner", 0)

        await world.fail("c")
        await world.until(lambda: addressed(world, "outer", 2))
        assert await world.find("c", SERVICES, "outer") is not None


async def holds(world, clusters, data):
    found = await copies(world, SECRETS, "key")
    assert all(obj["type"] == "Opaque" for obj in found.values())
    return {name: obj["data"] for name, obj in found.items()} == dict.fromkeys(clusters, data)


async def addressed(world, name, count):
    source = await world.host.get(SERVICES, name, "default")
    return len(dig(source, "status", "loadBalancer", "ingress", default=[])) == count
