"""The mixture of an application's addresses, on an API server in memory, as releases and their weights come and go."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from hanse.api.pieces import PIECE_CRD, PIECES, piece_spec
from hanse.api.service_addresses import (
    BALANCER_ANNOTATION,
    LEAVING_ANNOTATION,
    MIXED_LABEL,
    SERVICE_ADDRESSES,
    SERVICE_ADDRESSES_CRD,
)
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import APPLICATIONS, GENERATION_ANNOTATION, RELEASES, TRAFFIC_TARGETS
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import annotations_of, labels_of
from hanse.kube.resources import CRDS, SERVICES
from hanse.kube.runtime import SeededRuntime
from hanse.rollouts.shelf import Shelf
from hanse.rollouts.weights import WeightsController
from tests.simulation.world import Wire

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

OLD, NEW = "web-1-0", "web-2-0"
PORTS = [{"name": "http", "protocol": "TCP", "port": 80}]


class Host:
    """A host that people and other controllers write to, with nobody but the mixer on it."""

    def __init__(self, server, runtime):
        self.runtime = runtime
        self.people = Client(server.connect(Identity("anna", ("system:masters",))), runtime, manager="kubectl")
        self.wire = Wire(server.connect(Identity("hanse", ("system:masters",)), as_remote=True), runtime)
        self._tasks = []

    def start(self):
        host = Client(self.wire, self.runtime)
        shelf = Shelf(host)

        async def mixing():
            await shelf.wait_synced()
            await WeightsController(host, shelf).run()

        self._tasks = [asyncio.create_task(shelf.run()), asyncio.create_task(mixing())]

    async def stop(self):
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def create(self, resource, name, spec, **metadata):
        made = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
        return await self.people.create(
            resource, {**made, "metadata": {"name": name, "namespace": "default", **metadata}}
        )

    async def application(self):
        environment = {"chart": {"name": "c", "version": "1", "repoUrl": "https://c"}, "values": {}}
        template = {**environment, "clusterRequirements": {"regions": []}, "strategy": {"steps": []}}
        await self.create(APPLICATIONS, "web", {"template": template})

    async def release(self, name, generation, *, traffic_by="Weights", **weights):
        labels = {"shipper-app": "web", "shipper-release": name}
        environment = {"chart": {"name": "c", "version": "1", "repoUrl": "https://c"}, "values": {}}
        strategy = {"steps": [], "trafficBy": traffic_by}
        spec = {
            "targetStep": 0,
            "environment": {**environment, "clusterRequirements": {"regions": []}, "strategy": strategy},
        }
        annotations = {GENERATION_ANNOTATION: str(generation)}
        await self.create(RELEASES, name, spec, labels=labels, annotations=annotations)
        entries = [{"name": cluster, "weight": weight} for cluster, weight in weights.items()]
        await self.create(TRAFFIC_TARGETS, name, {"clusters": entries}, labels=labels)
        shared = service("web", {"shipper-lb": "production"}, {BALANCER_ANNOTATION: "http"})
        for piece, template in (
            (f"{name}-shared", shared),
            (f"{name}-own", service(f"{name}-web", {"hanse.dev/traffic": "release"})),
        ):
            await self.create(PIECES, piece, piece_spec(SERVICES, template), labels=labels)

    async def addresses(self, release, ttl=20, **clusters):
        entries = [
            {"name": cluster, "addresses": [address], "backends": 1, "serving": True}
            for cluster, address in clusters.items()
        ]
        spec = {
            "hostname": f"{release}-web.default.fed.example.com",
            "published": True,
            "ttlSeconds": ttl,
            "ports": PORTS,
        }
        await self.create(SERVICE_ADDRESSES, f"{release}-web", {**spec, "clusters": entries})

    async def weigh(self, release, **weights):
        entries = [{"name": cluster, "weight": weight} for cluster, weight in weights.items()]
        await self.people.patch(TRAFFIC_TARGETS, release, {"spec": {"clusters": entries}}, "default")

    async def mixture(self):
        return await self.people.find(SERVICE_ADDRESSES, "web", "default")

    async def led(self):
        found = await self.mixture()
        entries = [] if found is None else found["spec"]["clusters"]
        return {(entry["name"], entry["release"]): entry.get("weight", 1) for entry in entries}

    async def until_led(self, expected):
        async with asyncio.timeout(30):
            while await self.led() != expected:
                await self.runtime.sleep(0.05)


def service(name, labels, annotations=None):
    metadata = {"name": name, "namespace": "default", "labels": labels, "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}}


@asynccontextmanager
async def hosting():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Host(server, runtime)
    for crd in (*SHIPPER_CRDS, PIECE_CRD, SERVICE_ADDRESSES_CRD):
        await host.people.create(CRDS, crd)
    host.start()
    try:
        yield host
    finally:
        await host.stop()
        await server.close()


@asynccontextmanager
async def two_releases():
    async with hosting() as host:
        await host.application()
        await host.release(OLD, 0, eu=90)
        await host.release(NEW, 1, eu=10)
        await host.addresses(OLD, eu="192.0.2.1")
        await host.addresses(NEW, eu="192.0.2.2")
        await host.until_led({("eu", OLD): 9, ("eu", NEW): 1})
        yield host


async def test_one_name_leads_to_both_releases_and_belongs_to_the_application():
    async with two_releases() as host:
        mixture = await host.mixture()
        assert mixture["spec"]["hostname"] == "web.default.fed.example.com"
        assert labels_of(mixture) == {MIXED_LABEL: "true", "shipper-app": "web"}
        assert annotations_of(mixture) == {BALANCER_ANNOTATION: "http"}
        (owner,) = mixture["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("Application", "web")


async def test_who_was_led_to_is_remembered_for_as_long_as_resolvers_may_over_a_restart():
    async with two_releases() as host:
        await host.weigh(OLD, eu=0)
        await host.weigh(NEW, eu=100)
        left = host.runtime.now()
        await host.until_led({("eu", NEW): 1})
        assert f"eu/{OLD}" in annotations_of(await host.mixture())[LEAVING_ANNOTATION]
        await host.stop()
        await host.runtime.sleep(10)
        host.start()
        async with asyncio.timeout(60):
            while LEAVING_ANNOTATION in annotations_of(await host.mixture()):
                await host.runtime.sleep(0.1)
        assert 20 <= host.runtime.now() - left <= 28


async def test_nothing_is_written_while_nothing_changes():
    async with two_releases() as host:
        await host.runtime.sleep(5)
        before = (await host.mixture())["metadata"]["resourceVersion"]
        await host.runtime.sleep(20)
        assert (await host.mixture())["metadata"]["resourceVersion"] == before


async def test_a_release_whose_addresses_are_withdrawn_is_led_to_as_before():
    async with two_releases() as host:
        await host.people.delete(SERVICE_ADDRESSES, f"{OLD}-web", "default")
        await host.runtime.sleep(5)
        assert await host.led() == {("eu", OLD): 9, ("eu", NEW): 1}


async def test_a_release_that_is_gone_is_led_to_no_longer():
    async with two_releases() as host:
        await host.people.delete(RELEASES, OLD, "default")
        await host.until_led({("eu", NEW): 1})


async def test_the_mixture_goes_with_the_application():
    async with two_releases() as host:
        await host.people.delete(APPLICATIONS, "web", "default")
        async with asyncio.timeout(30):
            while await host.mixture() is not None:
                await host.runtime.sleep(0.05)


async def test_a_name_that_belongs_to_another_service_is_left_alone():
    async with hosting() as host:
        spec = {"published": True, "ttlSeconds": 20, "clusters": [{"name": "eu", "serving": False}]}
        before = await host.create(SERVICE_ADDRESSES, "web", spec)
        await host.application()
        await host.release(OLD, 0, eu=90)
        await host.addresses(OLD, eu="192.0.2.1")
        await host.runtime.sleep(5)
        assert await host.mixture() == before


async def test_releases_that_are_led_to_by_labels_are_none_of_its_business():
    async with hosting() as host:
        await host.application()
        await host.release(OLD, 0, traffic_by="Pods", eu=90)
        await host.addresses(OLD, eu="192.0.2.1")
        await host.runtime.sleep(5)
        assert await host.mixture() is None
