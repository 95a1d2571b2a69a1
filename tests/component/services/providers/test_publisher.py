"""The publisher on an embedded host, on virtual time: what it writes, what it leaves alone, and what it tells."""

import asyncio
from contextlib import asynccontextmanager
from functools import cached_property

import pytest

from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.dns_zones import DNS_ZONE_CRD, DNS_ZONES
from hanse.api.federation import FEDERATION_CRD, FEDERATION_NAME, FEDERATIONS, federation_manifest
from hanse.api.held_changes import HELD_CHANGE_CRD, HELD_CHANGES
from hanse.api.names import DELETION_ANNOTATION, SYSTEM_NAMESPACE
from hanse.api.service_addresses import SERVICE_ADDRESSES, SERVICE_ADDRESSES_CRD
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.approve import approve, list_waiting
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.errors import Invalid
from hanse.kube.manifest import Key, dig
from hanse.kube.resources import CRDS, NAMESPACES, SECRETS, SERVICES
from hanse.kube.runtime import SeededRuntime
from hanse.services.addresses import addresses_manifest
from hanse.services.dns.zone import Zone
from hanse.services.presence import FederatedService, Port, Presence
from hanse.services.providers.builtin import BuiltIn
from hanse.services.providers.interface import Change, ProviderError
from hanse.services.providers.publisher import FINALIZER, PublisherTerms, ZonePublisher
from hanse.services.providers.reporting import ZONES_PUBLISHED
from tests.behaviour.dns_providers import record
from tests.simulation.world import Wire

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

ADMINISTRATOR = Identity("admin", ("system:masters",))
CRDS_NEEDED = (
    DNS_ZONE_CRD,
    FEDERATION_CRD,
    CLUSTER_CRD,
    HELD_CHANGE_CRD,
    SERVICE_ADDRESSES_CRD,
)
WEB = "web.default.fed.example.com"


class Server:
    """A DNS server with one zone, which can be away; it counts what is asked of it."""

    def __init__(self, runtime):
        self.inner = BuiltIn(Zone("example.com"), runtime)
        self.largest_batch = 10
        self.away = False
        self.asked = 0
        self.batches = []
        self.opened = 0

    def open(self, _zone, opening):
        self.opened += 1
        self.secret = opening.secret
        return self

    def stored(self, wanted):
        return self.inner.stored(wanted)

    async def records(self):
        self._answer()
        return await self.inner.records()

    async def apply(self, changes):
        self._answer()
        await self.inner.apply(changes)
        self.batches.append(changes)

    async def close(self):
        await self.inner.close()

    def _answer(self):
        self.asked += 1
        if self.away:
            raise ProviderError("the name server does not answer")

    async def addresses(self):
        return {each.name: each.values for each in await self.inner.records() if each.type == "A"}


class ListeningWire(Wire):
    """A way to the host that also remembers which kinds were asked for."""

    @cached_property
    def asked(self):
        return set()

    async def send(self, request, timeout):
        self.asked.add(request.path.rpartition("/")[2])
        return await super().send(request, timeout)


class Stage:
    """A host, a DNS server, and a publisher that can be killed and started."""

    def __init__(self, api, runtime):
        self.client = Client(api.connect(ADMINISTRATOR), runtime, manager="kubectl")
        self.wire = ListeningWire(api.connect(ADMINISTRATOR), runtime)
        self.server = Server(runtime)
        self.leads = True
        self.runtime = runtime
        self._publisher = None

    def start(self):
        terms = PublisherTerms(open=self.server.open, leads=lambda: self.leads)
        publisher = ZonePublisher(Client(self.wire, self.runtime), terms)
        self._publisher = asyncio.create_task(publisher.run())

    async def kill(self):
        self._publisher.cancel()
        await asyncio.gather(self._publisher, return_exceptions=True)

    async def zone(self, **spec):
        spec = {"zone": "example.com", "provider": "rfc2136", "rfc2136": {"server": "ns"}, **spec}
        manifest = {"apiVersion": DNS_ZONES.api_version, "kind": "DNSZone", "metadata": {"name": "main"}, "spec": spec}
        return await self.client.create(DNS_ZONES, manifest)

    async def serve(self, name, *addresses):
        """Let a Service be found at addresses, each in a cluster of its own."""
        presences = tuple(Presence(f"c{index}", (each,), serving=True) for index, each in enumerate(addresses))
        service = FederatedService(Key("default", name), (Port("", "TCP", 80),), presences)
        await self.client.apply(SERVICE_ADDRESSES, addresses_manifest(service))

    async def condition(self, reason):
        """Wait until the zone is Ready, or not, for a reason; returns the condition."""
        async with asyncio.timeout(900):
            while True:
                zone = await self.client.get(DNS_ZONES, "main")
                found = find_condition(dig(zone, "status", "conditions"), "Ready")
                if found is not None and found["reason"] == reason:
                    return found
                await asyncio.sleep(2)

    async def until(self, holds):
        async with asyncio.timeout(900):
            while not await holds():  # noqa: ASYNC110 - time is virtual
                await asyncio.sleep(2)

    async def until_served(self, **addresses):
        """Wait until the zone has exactly these services, by their name and addresses."""
        wanted = {f"{name}.default.fed.example.com": values for name, values in addresses.items()}

        async def holds():
            found = await self.server.addresses()
            return {name: values for name, values in found.items() if ".svc." not in name} == wanted

        await self.until(holds)


@asynccontextmanager
async def staged():
    runtime = SeededRuntime()
    api = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    stage = Stage(api, runtime)
    try:
        for crd in CRDS_NEEDED:
            await stage.client.create(CRDS, crd)
        system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}
        await stage.client.create(NAMESPACES, system)
        await stage.client.create(FEDERATIONS, federation_manifest("fed", "example.com"))
        stage.start()
        yield stage
    finally:
        await stage.kill()
        await api.close()


async def test_names_are_published_and_what_is_steady_is_silent():
    async with staged() as stage:
        await stage.serve("web", "192.0.2.1", "192.0.2.2")
        await stage.zone()
        told = await stage.condition("Published")
        await stage.until_served(web=("192.0.2.1", "192.0.2.2"))
        zone = await stage.client.get(DNS_ZONES, "main")
        assert told["status"] == "True"
        # The hostname, the global level, and each cluster's own name.
        assert zone["status"]["records"] == 4
        federation = await stage.client.get(FEDERATIONS, FEDERATION_NAME)
        assert zone["status"]["owner"] == federation["metadata"]["uid"]
        writes, batches = len(stage.wire.writes), len(stage.server.batches)
        await asyncio.sleep(1500)
        assert (len(stage.wire.writes), len(stage.server.batches)) == (writes, batches)
        assert stage.server.asked >= batches + 3, "the whole zone is looked at again now and then"


async def test_without_a_zone_nothing_else_is_followed():
    async with staged() as stage:
        await asyncio.sleep(60)
        assert stage.wire.asked == {"dnszones"}
        await stage.zone()
        await stage.condition("Published")
        assert stage.wire.asked >= {"dnszones", "serviceaddresses", "federations", "clusters", "heldchanges"}


async def test_a_change_goes_in_one_batch_and_a_deleted_service_leaves_nothing():
    async with staged() as stage:
        await stage.zone()
        await stage.serve("web", "192.0.2.1")
        await stage.serve("shop", "192.0.2.7")
        await stage.until_served(web=("192.0.2.1",), shop=("192.0.2.7",))
        before = len(stage.server.batches)
        await stage.serve("web", "192.0.2.2")
        await stage.until_served(web=("192.0.2.2",), shop=("192.0.2.7",))
        assert len(stage.server.batches) == before + 1
        await stage.client.delete(SERVICE_ADDRESSES, "web", "default")
        await stage.until_served(shop=("192.0.2.7",))
        assert not [each.name for each in await stage.server.inner.records() if "web" in each.name]


async def test_a_failing_server_keeps_what_it_has_and_is_asked_less_and_less():
    async with staged() as stage:
        await stage.zone()
        await stage.client.create(SERVICES, service_manifest("web"))
        await stage.serve("web", "192.0.2.1")
        await stage.until_served(web=("192.0.2.1",))
        stage.server.away = True
        asked = stage.server.asked
        await stage.serve("web", "192.0.2.2")
        told = await stage.condition("ProviderFailed")
        assert told["message"] == "the name server does not answer; what was published stays as it is"
        for last in range(3, 23):
            await stage.serve("web", f"192.0.2.{last}")
            await asyncio.sleep(30)
        assert (await stage.server.addresses())[WEB] == ("192.0.2.1",)
        assert stage.server.asked - asked < 12, "ten minutes of changes are less attempts than changes"
        found = await stage.client.get(SERVICES, "web", "default")
        lacks = find_condition(found["status"]["conditions"], ZONES_PUBLISHED)
        assert lacks["status"] == "False"
        assert "waits, since the name server does not answer" in lacks["message"]
        stage.server.away = False
        await stage.until_served(web=("192.0.2.22",))
        assert (await stage.condition("Published"))["status"] == "True"

        async def is_told():
            found = await stage.client.get(SERVICES, "web", "default")
            return find_condition(found["status"]["conditions"], ZONES_PUBLISHED)["status"] == "True"

        await stage.until(is_told)


async def test_a_name_of_somebody_elses_is_a_condition_of_the_zone_and_of_the_service():
    async with staged() as stage:
        theirs = record(WEB, "A", "203.0.113.1")
        await stage.server.inner.apply([Change(None, theirs)])
        await stage.client.create(SERVICES, service_manifest("web"))
        await stage.serve("web", "192.0.2.1")
        await stage.zone(resyncSeconds=60)
        told = await stage.condition("Conflicts")
        assert told["message"].startswith(f"{WEB} is in the zone already and is not this federation's")
        assert (await stage.client.get(DNS_ZONES, "main"))["status"]["conflicts"] == [WEB]

        async def is_told():
            found = await stage.client.get(SERVICES, "web", "default")
            return find_condition(dig(found, "status", "conditions"), ZONES_PUBLISHED) is not None

        await stage.until(is_told)
        assert theirs in await stage.server.inner.records()
        await stage.server.inner.apply([Change(theirs, None)])
        await stage.until_served(web=("192.0.2.1",))
        await stage.condition("Published")


async def test_a_publisher_that_is_killed_anywhere_leaves_nothing_behind():
    async with staged() as stage:
        await stage.zone()
        for index in range(12):
            await stage.serve(f"s{index}", f"192.0.2.{index + 1}")
        for _ in range(6):
            before = len(stage.server.batches)

            async def moved(before=before):
                return len(stage.server.batches) > before

            await stage.until(moved)
            await stage.kill()
            stage.start()
            if len(stage.server.batches) >= 7:
                break
        await stage.until_served(**{f"s{index}": (f"192.0.2.{index + 1}",) for index in range(12)})
        await stage.client.delete(DNS_ZONES, "main")
        await stage.until(lambda: gone(stage))
        assert await stage.server.inner.records() == []


async def test_a_service_that_goes_while_nobody_publishes_is_taken_out_afterwards():
    async with staged() as stage:
        await stage.zone()
        await stage.serve("web", "192.0.2.1")
        await stage.serve("shop", "192.0.2.7")
        await stage.until_served(web=("192.0.2.1",), shop=("192.0.2.7",))
        await stage.kill()
        await stage.client.delete(SERVICE_ADDRESSES, "web", "default")
        stage.start()
        await stage.until_served(shop=("192.0.2.7",))
        assert not [each.name for each in await stage.server.inner.records() if "web" in each.name]


async def gone(stage):
    return await stage.client.find(DNS_ZONES, "main") is None


async def test_names_of_most_services_go_only_with_a_persons_word():
    async with staged() as stage:
        await stage.zone()
        for index in range(24):
            await stage.serve(f"s{index:02}", "192.0.2.1")
        everything = {f"s{index:02}": ("192.0.2.1",) for index in range(24)}
        await stage.until_served(**everything)
        await stage.client.delete_collection(SERVICE_ADDRESSES, "default")
        told = await stage.condition("ChangeHeld")
        assert told["message"] == (
            "24 of 24 services would lose all their names in example.com; "
            "`hanse approve dns-main` takes them out of the zone"
        )
        (waiting,) = await list_waiting(stage.client)
        assert waiting.why == "24 of 24 services would lose all their names in example.com"
        await stage.serve("new", "192.0.2.9")
        await stage.until_served(**everything, new=("192.0.2.9",))
        await approve(stage.client, ("dns-main",))
        await stage.until_served(new=("192.0.2.9",))
        await stage.condition("Published")
        assert await stage.client.find(HELD_CHANGES, "dns-main") is None


async def test_a_federation_that_is_gone_or_broken_removes_nothing_and_one_made_anew_keeps_its_names():
    async with staged() as stage:
        await stage.zone()
        await stage.serve("web", "192.0.2.1")
        await stage.until_served(web=("192.0.2.1",))
        await stage.client.delete(FEDERATIONS, FEDERATION_NAME)
        await stage.condition("NoFederation")
        await asyncio.sleep(60)
        await stage.until_served(web=("192.0.2.1",))
        await stage.client.create(FEDERATIONS, federation_manifest("fed", "example.com"))
        await stage.condition("Published")
        await stage.serve("web", "192.0.2.2")
        await stage.until_served(web=("192.0.2.2",))


@pytest.mark.parametrize("orphan", [False, True])
async def test_deleting_the_zone_takes_the_names_out_unless_they_are_to_stay(orphan):
    async with staged() as stage:
        theirs = record("mail.example.com", "A", "203.0.113.1")
        await stage.server.inner.apply([Change(None, theirs)])
        zone = await stage.zone()
        await stage.serve("web", "192.0.2.1")
        await stage.condition("Published")
        assert FINALIZER in (await stage.client.get(DNS_ZONES, "main"))["metadata"]["finalizers"]
        if orphan:
            patch = {"metadata": {"annotations": {DELETION_ANNOTATION: "orphan"}}}
            await stage.client.patch(DNS_ZONES, zone["metadata"]["name"], patch)
        await stage.client.delete(DNS_ZONES, "main")
        await stage.until(lambda: gone(stage))
        found = await stage.server.inner.records()
        assert theirs in found
        assert (len(found) > 1) is orphan


async def test_a_zone_whose_server_is_away_can_be_let_go():
    async with staged() as stage:
        await stage.zone()
        await stage.serve("web", "192.0.2.1")
        await stage.condition("Published")
        stage.server.away = True
        await stage.client.delete(DNS_ZONES, "main")
        await stage.condition("ProviderFailed")
        await asyncio.sleep(60)
        assert not await gone(stage)
        patch = {"metadata": {"annotations": {DELETION_ANNOTATION: "orphan"}}}
        await stage.client.patch(DNS_ZONES, "main", patch)
        await asyncio.sleep(2)
        assert await gone(stage)


async def test_a_process_that_no_longer_leads_publishes_nothing():
    async with staged() as stage:
        await stage.zone()
        await stage.serve("web", "192.0.2.1")
        await stage.until_served(web=("192.0.2.1",))
        stage.leads = False
        await stage.serve("web", "192.0.2.2")
        await asyncio.sleep(60)
        assert (await stage.server.addresses())[WEB] == ("192.0.2.1",)


async def test_what_is_wrong_with_the_zone_or_its_secret_is_told_and_mended():
    async with staged() as stage:
        await stage.zone(secretRef={"name": "dns"}, rfc2136={"server": "ns:x"})
        told = await stage.condition("Invalid")
        assert told["message"] == "spec.rfc2136.server: 'ns:x' must be HOST or HOST:PORT"
        await stage.client.patch(DNS_ZONES, "main", {"spec": {"rfc2136": {"server": "ns:53"}}})
        told = await stage.condition("ProviderFailed")
        assert told["message"].startswith("there is no Secret 'dns' in the namespace hanse-system")
        secret = {"metadata": {"name": "dns", "namespace": SYSTEM_NAMESPACE}, "stringData": {"tsig-secret": "c2VjcmV0"}}
        await stage.client.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", **secret})
        await stage.condition("Published")
        assert stage.server.secret == {"tsig-secret": "c2VjcmV0"}
        with pytest.raises(Invalid, match="make another DNSZone for another zone"):
            await stage.client.patch(DNS_ZONES, "main", {"spec": {"zone": "example.org"}})


def service_manifest(name):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]},
    }
