"""A balancer follows the host: what Services ask and where they are, told once each time it changes."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.api.global_ingresses import GLOBAL_INGRESS_CRD
from hanse.api.service_addresses import BALANCER_ANNOTATION, SERVICE_ADDRESSES, SERVICE_ADDRESSES_CRD
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.resources import CRDS, EVENTS, SERVICES
from hanse.kube.runtime import SeededRuntime
from hanse.services.addresses import addresses_manifest
from hanse.services.balancing.balancer import BalancerFailure
from hanse.services.balancing.follower import BalancerFollower
from hanse.services.balancing.lines import Trouble
from hanse.services.presence import FederatedService, Port, Presence

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


class PaperBalancer:
    """A balancer that only takes down what it is told; ports of `taken` are somebody else's."""

    def __init__(self):
        self.told = []
        self.taken = set()
        self.failures = 0

    async def apply(self, lines):
        if self.failures:
            self.failures -= 1
            raise BalancerFailure("it is out of order")
        self.told.append({line.name: {each.cluster: each.weight for each in line.targets} for line in lines})
        return [Trouble(line.service, f"port {line.listen} is taken") for line in lines if line.listen in self.taken]

    async def run(self):
        await asyncio.Event().wait()


def service(name, wish, **spec):
    annotations = {} if wish is None else {BALANCER_ANNOTATION: wish}
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}], **spec}}


def addresses(name, *serving, drained=()):
    presences = [Presence(each, (f"192.0.2.{ord(each[0])}",), serving=each not in drained) for each in serving]
    return addresses_manifest(FederatedService(Key("default", name), (Port("", "TCP", 80),), tuple(presences)))


@asynccontextmanager
async def followed():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    await host.create(CRDS, SERVICE_ADDRESSES_CRD)
    await host.create(CRDS, GLOBAL_INGRESS_CRD)
    balancer = PaperBalancer()
    running = asyncio.create_task(BalancerFollower(host, balancer).run())
    try:
        yield host, balancer
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await server.close()


async def settle(host):
    await host.runtime.sleep(60)


async def test_a_service_that_asks_is_balanced_and_follows_its_addresses():
    async with followed() as (host, balancer):
        await host.create(SERVICES, service("web", "tcp"))
        await host.create(SERVICES, service("other", None))
        for name in ("web", "other"):
            await host.create(SERVICE_ADDRESSES, addresses(name, "a", "b"))
        await settle(host)
        both = balancer.told[-1]
        spec = addresses("web", "a", "b", drained="b")["spec"]
        await host.patch(SERVICE_ADDRESSES, "web", {"spec": spec}, "default")
        await settle(host)
        drained = balancer.told[-1]
        await host.delete(SERVICES, "web", "default")
        await host.delete(SERVICE_ADDRESSES, "web", "default")
        await settle(host)

        assert both == {"default.web.80": {"a": 256, "b": 256}}
        assert drained == {"default.web.80": {"a": 256, "b": 0}}
        assert balancer.told[-1] == {}


async def test_nothing_is_told_while_nothing_changes():
    async with followed() as (host, balancer):
        await host.create(SERVICES, service("web", "tcp"))
        await host.create(SERVICE_ADDRESSES, addresses("web", "a"))
        await settle(host)
        before = len(balancer.told)
        await host.runtime.sleep(3600)

        assert len(balancer.told) == before


async def test_addresses_without_a_service_on_the_host_ask_for_themselves():
    async with followed() as (host, balancer):
        manifest = addresses("web", "a")
        manifest["metadata"]["annotations"] = {BALANCER_ANNOTATION: "tcp"}
        await host.create(SERVICE_ADDRESSES, manifest)
        await settle(host)

        assert balancer.told[-1] == {"default.web.80": {"a": 256}}


async def test_a_balancer_that_fails_is_told_again():
    async with followed() as (host, balancer):
        balancer.failures = 3
        await host.create(SERVICES, service("web", "tcp"))
        await host.create(SERVICE_ADDRESSES, addresses("web", "a"))
        await settle(host)

        assert balancer.told[-1] == {"default.web.80": {"a": 256}}


async def test_who_does_not_get_what_it_asks_hears_why_once_and_a_taken_port_is_tried_again():
    async with followed() as (host, balancer):
        balancer.taken = {80}
        await host.create(SERVICES, service("web", "tcp"))
        await host.create(SERVICES, service("bad", "udp"))
        for name in ("web", "bad"):
            await host.create(SERVICE_ADDRESSES, addresses(name, "a"))
        await host.runtime.sleep(300)
        tried = len(balancer.told)
        events = (await host.list(EVENTS)).items
        balancer.taken = set()
        await host.runtime.sleep(300)

        assert sorted((event["involvedObject"]["name"], event["message"][:24], event["count"]) for event in events) == [
            ("bad", "hanse.dev/balancer: must", 1),
            ("web", "port 80 is taken", 1),
        ]
        assert tried > 5
        assert len(balancer.told) <= tried + 2
