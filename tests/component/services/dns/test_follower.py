"""A server's zone follows the host, and outlives it."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.clusters import CLUSTERS
from hanse.api.federation import FEDERATION_CRD, FEDERATION_NAME, FEDERATIONS, federation_manifest
from hanse.api.service_addresses import SERVICE_ADDRESSES, SERVICE_ADDRESSES_CRD
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.resources import CRDS
from hanse.kube.runtime import SeededRuntime
from hanse.services.addresses import addresses_manifest
from hanse.services.dns.authority import Authority
from hanse.services.dns.book import Book
from hanse.services.dns.follower import Follower
from hanse.services.dns.keeping import Keeper
from hanse.services.dns.zones import Zones
from hanse.services.presence import FederatedService, Presence
from tests.unit.services.dns.asking import ask, rcode, values

pytestmark = pytest.mark.looptime

ADMINISTRATOR = Identity("admin", ("system:masters",))
KEY = Key("default", "web")
NAME = "web.default.fed.example.com"
EU_NAME = "web.default.fed.svc.eu.example.com"


class Stage:
    """A host, and a server's mind that follows it."""

    def __init__(self, server, host, runtime, kept=None):
        self.server, self.host = server, host
        self.zones = Zones(complete=False)
        self.authority = Authority(self.zones, runtime)
        changed = asyncio.Event()
        self.follower = Follower(host, Book(self.zones, runtime, changed=changed.set), changed, kept)

    async def publish(self, *addresses):
        service = FederatedService(KEY, (), tuple(Presence(f"c-{each}", (each,)) for each in addresses))
        await self.host.apply(SERVICE_ADDRESSES, addresses_manifest(service))
        await asyncio.sleep(5)

    def answer(self, name=NAME):
        found = ask(self.authority, name)
        return sorted(values(found)) or rcode(found)

    @property
    def serial(self):
        return ask(self.authority, "example.com", "SOA").answer[0][0].serial


@asynccontextmanager
async def following(kept=None, *, away=False):
    """Follow a host; one that is `away` has everything taken from it before."""
    runtime = SeededRuntime(1)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Client(server.connect(ADMINISTRATOR, as_remote=True), runtime)
    for crd in (CLUSTER_CRD, FEDERATION_CRD, SERVICE_ADDRESSES_CRD):
        await host.apply(CRDS, crd)
    await asyncio.sleep(5)
    stage = Stage(server, host, runtime, None if kept is None else Keeper(kept, runtime))
    if away:
        await server.close()
    task = asyncio.create_task(stage.follower.run())
    try:
        yield stage
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await server.close()


async def test_names_appear_change_and_go_with_their_objects():
    async with following() as stage:
        assert stage.answer() == "SERVFAIL"
        await asyncio.sleep(5)
        assert stage.answer() == "REFUSED"

        await stage.host.create(FEDERATIONS, federation_manifest("fed", "example.com"))
        await stage.publish("1.1.1.1", "2.2.2.2")
        assert stage.answer() == ["1.1.1.1", "2.2.2.2"]
        before = stage.serial

        await stage.publish("2.2.2.2")
        assert stage.answer() == ["2.2.2.2"]
        assert stage.serial > before

        cluster = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "metadata": {"name": "c-2.2.2.2"}}
        await stage.host.create(CLUSTERS, cluster | {"metadata": {"name": "c-2"}, "spec": {}})
        await stage.host.patch(CLUSTERS, "c-2", {"status": {"region": "eu", "zones": ["eu-a"]}}, subresource="status")
        service = FederatedService(KEY, (), (Presence("c-2", ("2.2.2.2",)),))
        await stage.host.apply(SERVICE_ADDRESSES, addresses_manifest(service))
        await asyncio.sleep(5)
        assert stage.answer(EU_NAME) == ["2.2.2.2"]

        await stage.host.delete(SERVICE_ADDRESSES, KEY.name, KEY.namespace)
        await asyncio.sleep(5)
        assert stage.answer() == "NXDOMAIN"

        await stage.host.delete(FEDERATIONS, FEDERATION_NAME)
        await asyncio.sleep(5)
        assert stage.answer() == "REFUSED"


async def test_a_second_without_changes_leaves_the_serial_and_a_burst_moves_it_once():
    async with following() as stage:
        await stage.host.create(FEDERATIONS, federation_manifest("fed", "example.com"))
        await stage.publish("1.1.1.1")
        quiet = stage.serial
        await asyncio.sleep(600)
        assert stage.serial == quiet

        serials = []
        stage.zones.subscribe(lambda zone: serials.append(zone.serial))
        for number in range(20):
            service = FederatedService(Key("default", f"s-{number}"), (), (Presence("c", ("1.1.1.1",)),))
            await stage.host.apply(SERVICE_ADDRESSES, addresses_manifest(service))
        await asyncio.sleep(5)
        assert len(serials) == 1
        assert serials[0] > quiet


async def test_the_last_good_zone_is_served_on_while_the_host_is_away():
    async with following() as stage:
        await stage.host.create(FEDERATIONS, federation_manifest("fed", "example.com"))
        await stage.publish("1.1.1.1")
        await stage.server.close()
        await asyncio.sleep(120)

        assert stage.answer() == ["1.1.1.1"]


async def test_a_server_that_starts_while_the_host_is_away_answers_what_was_kept(tmp_path):
    file = tmp_path / "known.json"
    async with following(file) as stage:
        await stage.host.create(FEDERATIONS, federation_manifest("fed", "example.com"))
        await stage.publish("1.1.1.1")
        await asyncio.sleep(60)

    async with following(file, away=True) as stage:
        await asyncio.sleep(60)
        assert stage.answer() == ["1.1.1.1"]

    async with following(file) as stage:
        await stage.host.create(FEDERATIONS, federation_manifest("fed", "example.com"))
        await asyncio.sleep(60)
        assert stage.answer() == "NXDOMAIN"


@pytest.mark.parametrize("kept", [None, b"", b"[]", b'{"items": [{}]}', b'{"items": []}'])
async def test_a_file_of_no_use_is_passed_over(tmp_path, kept):
    file = tmp_path / "known.json"
    if kept is not None:
        file.write_bytes(kept)
    async with following(file, away=True) as stage:
        await asyncio.sleep(5)
        assert stage.answer() == "SERVFAIL"
