"""Clients outside led to two releases by weights, in a whole federation on virtual time."""

import functools

import pytest

from hanse.api.federation import FEDERATIONS, federation_manifest
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.api.shipper.kinds import APPLICATIONS, CAPACITY_TARGETS, TRAFFIC_TARGETS
from hanse.kube.manifest import dig, name_of
from hanse.kube.resources import CONFIGMAPS, SERVICES
from hanse.kube.runtime import SystemRuntime
from hanse.services.dns.authority import Authority
from tests.behaviour.rollouts import achieved
from tests.simulation.rollouts.applications import FULL_ON, STAGING, Step, template_of
from tests.simulation.rollouts.resolvers import by_weights, packed_for_outside
from tests.simulation.rollouts.world import rollouts
from tests.unit.services.dns.asking import ask, values
from tests.unit.services.dns.test_book import book_of

pytestmark = pytest.mark.looptime

TTL = 40
CANARY: Step = ("canary", 100, 34, 90, 10)
STEPS = [STAGING, CANARY, FULL_ON]


async def entries(world):
    found = await world.host.find(SERVICE_ADDRESSES, "web", "default")
    return [] if found is None else found["spec"]["clusters"]


async def led(world):
    """By release, the weight of everybody to whom clients of the name are led."""
    return {each["release"]: each.get("weight", 1) for each in await entries(world) if each["serving"]}


async def is_led(world, expected):
    return await led(world) == expected


async def percent(world, release):
    return dig(await world.host.get(CAPACITY_TARGETS, release, "default"), "spec", "clusters")[0]["percent"]


async def answered(world):
    """What the built-in DNS server answers for the name, from what the host stores."""
    stored = (await world.host.list(SERVICE_ADDRESSES, "default")).items
    book = book_of(*stored, federation=federation_manifest("fed", "example.com"))
    return sorted(values(ask(Authority(book.zones, SystemRuntime()), "web.default.fed.example.com", "A")))


async def test_weights_lead_clients_and_nobody_is_scaled_down_while_a_resolver_may_lead_to_him():
    async with rollouts("eu") as world:
        await world.host.create(FEDERATIONS, federation_manifest("fed", "example.com"))
        for version in ("1", "2"):
            await world.host.create(CONFIGMAPS, packed_for_outside(version, ttl=TTL))
        await world.host.create(APPLICATIONS, by_weights("1", STEPS))
        old = await world.contender("web", 0)
        await achieved(world.people, old, 0, "staging")
        assert await led(world) == {}
        await world.go_to(old, 2)
        await achieved(world.people, old, 2, "full on")
        assert await led(world) == {old: 1}

        # Inside there is one Service as ever; every release has an address of its own.
        services = {name_of(each): each for each in (await world.clients["eu"].list(SERVICES, "default")).items}
        assert services["web"]["spec"]["type"] == "ClusterIP"
        assert services[f"{old}-web"]["spec"]["type"] == "LoadBalancer"

        await world.host.patch(APPLICATIONS, "web", template_of("2"), "default")
        new = await world.contender("web", 1)
        await achieved(world.people, new, 0, "staging")
        assert await led(world) == {old: 1}
        await world.go_to(new, 1)
        await achieved(world.people, new, 1, "canary")
        assert await led(world) == {old: 9, new: 1}
        assert await answered(world) == sorted(each["addresses"][0] for each in await entries(world))

        await world.go_to(new, 2)
        await world.until(functools.partial(is_led, world, {new: 1}))
        since = world.runtime.monotonic()
        while await percent(world, old) == 100:
            waited = world.runtime.monotonic() - since
            assert world.traffic.cluster("eu").pods_of(old) == 3
            assert waited < TTL + 15
            await world.runtime.sleep(0.5)
        assert world.runtime.monotonic() - since >= TTL
        await achieved(world.people, new, 2, "full on")
        target = await world.host.get(TRAFFIC_TARGETS, new, "default")
        assert dig(target, "status", "clusters")[0]["achievedTraffic"] == 100
        assert await answered(world) == [each["addresses"][0] for each in await entries(world)]
        assert world.traffic.cluster("eu").pods_of(old) == 0
