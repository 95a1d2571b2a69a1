"""Publishing into Google Cloud DNS, against a server with its documented semantics."""

import pytest

from hanse.api.dns_zones import GEOLOCATION, WEIGHTED, CloudDnsSettings
from hanse.services.providers.clouddns import CloudDns
from hanse.services.providers.interface import Change, ProviderError, Refused
from hanse.services.records import Datum, RecordSet
from tests.behaviour.dns_providers import NAME, ZONE, ProviderConformance, Stage, publish, record, service
from tests.component.services.providers.cloud_dns import PROJECT, TOKEN, cloud_dns

REGIONS = {"east": "us-east1", "west": "us-west1", "cellar": "home"}
ROUTED = RecordSet(
    NAME,
    "A",
    180,
    (Datum("192.0.2.1", "east", 1), Datum("192.0.2.2", "west", 3), Datum("192.0.2.3", "cellar", 1)),
)


@pytest.fixture
async def server():
    async with cloud_dns() as server:
        yield server


def opened(server, zone=ZONE, token=TOKEN, **settings):
    async def give():
        return token

    settings = CloudDnsSettings(PROJECT, endpoint=server.url, **settings)
    return CloudDns(zone, settings, give, region_of=lambda cluster: REGIONS.get(cluster, ""))


class TestCloudDns(ProviderConformance):
    @pytest.fixture
    def stage(self, server):
        server.add("main", f"{ZONE}.")
        return Stage(lambda: opened(server))


async def test_a_zone_that_is_missing_is_made_once_and_used(server):
    for _ in range(2):
        provider = opened(server)
        await publish(provider, service(record(NAME, "A", "192.0.2.1")))
        await provider.close()
    assert [(each.name, each.dns_name) for each in server.zones.values()] == [("hanse-example-com", "example.com.")]
    assert server.zones["hanse-example-com"].changes == 1


async def test_two_zones_of_the_same_name_are_refused_until_one_is_named(server):
    server.add("one", f"{ZONE}.")
    server.add("two", f"{ZONE}.")
    provider = opened(server)
    with pytest.raises(ProviderError, match=r"several managed zones example\.com \(one, two\): set spec\.clouddns"):
        await provider.records()
    await provider.close()
    named = opened(server, managed_zone="two")
    await publish(named, service(record(NAME, "A", "192.0.2.1")))
    assert (server.zones["one"].changes, server.zones["two"].changes) == (0, 1)
    await named.close()


async def test_clusters_are_answered_by_place(server):
    zone = server.add("main", f"{ZONE}.")
    provider = opened(server, routing=GEOLOCATION)
    await publish(provider, service(ROUTED))
    # The cluster in no region of Google's is offered in each of them.
    assert zone.sets[f"{NAME}.", "A"]["routingPolicy"]["geo"]["items"] == [
        {"location": "us-east1", "rrdatas": ["192.0.2.1", "192.0.2.3"]},
        {"location": "us-west1", "rrdatas": ["192.0.2.2", "192.0.2.3"]},
    ]
    assert (await publish(provider, service(ROUTED))).plan.steps == ()
    await provider.close()


async def test_clusters_are_answered_by_weight(server):
    zone = server.add("main", f"{ZONE}.")
    provider = opened(server, routing=WEIGHTED)
    await publish(provider, service(ROUTED))
    assert zone.sets[f"{NAME}.", "A"]["routingPolicy"]["wrr"]["items"] == [
        {"weight": 1.0, "rrdatas": ["192.0.2.3"]},
        {"weight": 1.0, "rrdatas": ["192.0.2.1"]},
        {"weight": 3.0, "rrdatas": ["192.0.2.2"]},
    ]
    assert (await publish(provider, service(ROUTED))).plan.steps == ()
    await provider.close()


async def test_a_wrong_token_is_told_in_one_sentence(server):
    provider = opened(server, token="expired")
    with pytest.raises(ProviderError, match=r"Cloud DNS refuses what is asked for example\.com \(401\): Request had"):
        await provider.records()
    await provider.close()


async def test_a_name_outside_of_the_zone_is_refused_without_harm(server):
    zone = server.add("main", f"{ZONE}.")
    provider = opened(server)
    with pytest.raises(Refused):
        await provider.apply([Change(None, record("web.elsewhere.org", "A", "192.0.2.1"))])
    assert zone.changes == 0
    await provider.close()


async def test_a_server_that_is_away_is_told_in_one_sentence():
    async with cloud_dns() as server:
        provider = opened(server)
    with pytest.raises(ProviderError, match=r"Cloud DNS cannot be asked about example\.com: "):
        await provider.records()
    await provider.close()
