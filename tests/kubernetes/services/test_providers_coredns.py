"""Publishing into real etcd, answered by real CoreDNS."""

import aiohttp
import pytest

from hanse.api.dns_zones import CoreDnsSettings, DnsZone
from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.services.providers.coredns import CoreDns
from hanse.services.providers.etcd_gateway import EtcdAccess
from hanse.services.providers.interface import ProviderError
from hanse.services.providers.opening import Opening, open_provider
from tests.behaviour.dns_providers import ALIAS, NAME, ZONE, ProviderConformance, Stage, publish, record, withdraw
from tests.kubernetes.real.certificates import Authority
from tests.kubernetes.services.name_servers import coredns, etcd


@pytest.fixture(scope="module")
def servers():
    with coredns() as servers:
        yield servers


def opened(url, **access):
    return CoreDns(ZONE, CoreDnsSettings((url,), timeout_seconds=60), EtcdAccess(**access))


class TestCoreDns(ProviderConformance):
    @pytest.fixture
    def stage(self, servers):
        server, url = servers
        # CoreDNS makes its own priorities and weights of SRV records: shares of a hundred.
        return Stage(lambda: opened(url), server.ask, unlike=frozenset({"SRV"}))


async def test_ports_are_found_with_the_share_of_each_cluster(servers):
    server, url = servers
    provider = opened(url)
    targets = [f"0 1 443 east.{NAME}.", f"0 3 443 west.{NAME}."]
    await publish(provider, {Key("shop", "web"): [record(f"_https._tcp.{NAME}", "SRV", *targets)]})
    assert await server.ask(f"_https._tcp.{NAME}", "SRV") == {f"10 25 443 east.{NAME}.", f"10 75 443 west.{NAME}."}
    await withdraw(provider)
    await provider.close()


async def test_what_stands_below_a_name_is_not_in_its_answers(servers):
    server, url = servers
    provider = opened(url)
    records = [
        record(NAME, "A", "192.0.2.1"),
        record(f"_https._tcp.{NAME}", "SRV", f"0 1 443 east.{NAME}."),
        record(f"east.{NAME}", "A", "192.0.2.77"),
        record(ALIAS, "CNAME", f"{NAME}."),
    ]
    await publish(provider, {Key("shop", "web"): records})
    assert await server.ask(NAME, "A") == {"192.0.2.1"}
    assert await server.ask(NAME, "CNAME") == set()
    assert await server.ask(NAME, "TXT") == set()
    assert await server.ask(ALIAS, "A") == {"192.0.2.1"}
    await withdraw(provider)
    assert await server.ask(NAME, "A") == set()
    await provider.close()


async def test_a_set_of_more_addresses_than_one_transaction_holds_is_published(servers):
    server, url = servers
    provider = opened(url)
    many = [f"10.0.{index // 250}.{index % 250 + 1}" for index in range(300)]
    await publish(provider, {Key("shop", "web"): [record(NAME, "A", *many)]})
    assert await server.ask(NAME, "A") == set(many)
    await withdraw(provider)
    await provider.close()


async def test_the_members_of_etcd_are_asked_in_turn_and_their_silence_is_told(servers):
    _, url = servers
    second = CoreDns(ZONE, CoreDnsSettings(("http://127.0.0.1:1", url)), EtcdAccess())
    assert await second.records() == []
    await second.close()
    away = opened("http://127.0.0.1:1")
    with pytest.raises(ProviderError, match=r"no member of etcd answers \(http://127\.0\.0\.1:1: "):
        await away.records()
    await away.close()


async def test_a_name_and_a_password_are_needed_where_etcd_asks_for_them():
    with etcd() as url:
        await _lock(url)
        provider = opened(url, username="root", password="right")
        await publish(provider, {Key("shop", "web"): [record(NAME, "A", "192.0.2.1")]})
        assert record(NAME, "A", "192.0.2.1") in await provider.records()
        await provider.close()
        for access, sentence in (
            ({"username": "root", "password": "wrong"}, "refuses|does not let 'root' in"),
            ({}, "refuses|does not let '' in"),
        ):
            stranger = opened(url, **access)
            with pytest.raises(ProviderError, match=sentence):
                await stranger.records()
            await stranger.close()


async def test_a_client_certificate_of_the_secret_is_shown():
    authority = Authority("etcd")
    client = authority.client("hanse")
    secret = {
        "ca.crt": authority.credential.certificate.decode(),
        "tls.crt": client.certificate.decode(),
        "tls.key": client.key.decode(),
    }
    with etcd(authority) as url:
        zone = DnsZone("main", ZONE, CoreDnsSettings((url,), timeout_seconds=60))
        for given, works in ((secret, True), ({"ca.crt": secret["ca.crt"]}, False), ({}, False)):
            provider = open_provider(zone, Opening(SystemRuntime(), given, "fed-1", lambda _cluster: ""))
            if works:
                await publish(provider, {Key("shop", "web"): [record(NAME, "A", "192.0.2.1")]})
                assert record(NAME, "A", "192.0.2.1") in await provider.records()
            else:
                with pytest.raises(ProviderError, match="no member of etcd answers"):
                    await provider.records()
            await provider.close()


async def _lock(url):
    """Have etcd ask for a name and a password."""
    async with aiohttp.ClientSession() as session:
        for path, body in (
            ("user/add", {"name": "root", "password": "right"}),
            ("role/add", {"name": "root"}),
            ("user/grant", {"user": "root", "role": "root"}),
            ("enable", {}),
        ):
            async with session.post(f"{url}/v3/auth/{path}", json=body) as answer:
                assert answer.status == 200, await answer.text()
