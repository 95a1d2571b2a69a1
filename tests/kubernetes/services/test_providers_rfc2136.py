"""Publishing by dynamic update into real BIND and real Knot."""

import base64

import pytest

from hanse.api.dns_zones import Rfc2136Settings
from hanse.services.providers.interface import Change, ProviderError, Refused
from hanse.services.providers.rfc2136 import DynamicUpdates
from tests.behaviour.dns_providers import (
    ALIAS,
    NAME,
    ZONE,
    ProviderConformance,
    Stage,
    publish,
    record,
    service,
    withdraw,
)
from tests.kubernetes.services.name_servers import KEY_NAME, SECRET, bind, knot


@pytest.fixture(scope="module")
def bind_server():
    with bind() as server:
        yield server


@pytest.fixture(scope="module")
def knot_server():
    with knot() as server:
        yield server


def opened(server, *, key=KEY_NAME, secret=SECRET, zone=ZONE):
    return DynamicUpdates(zone, Rfc2136Settings("127.0.0.1", server.port, key, timeout_seconds=60), secret)


class TestBind(ProviderConformance):
    @pytest.fixture
    def stage(self, bind_server):
        return Stage(lambda: opened(bind_server), bind_server.ask)


class TestKnot(ProviderConformance):
    @pytest.fixture
    def stage(self, knot_server):
        return Stage(lambda: opened(knot_server), knot_server.ask)


@pytest.fixture(params=["bind_server", "knot_server"])
def server(request):
    return request.getfixturevalue(request.param)


async def test_a_wrong_secret_is_told_in_one_sentence(server):
    provider = opened(server, secret=base64.b64encode(b"another").decode())
    with pytest.raises(
        ProviderError, match=r"the zone example\.com at 127\.0\.0\.1:\d+ cannot be transferred: the TSIG"
    ):
        await provider.records()
    with pytest.raises(ProviderError, match="the TSIG key 'hanse' is not the one that the server has"):
        await provider.apply([Change(None, record(NAME, "A", "192.0.2.1"))])


async def test_without_a_key_the_server_lists_nothing_and_takes_nothing(server):
    provider = opened(server, key="", secret="")
    with pytest.raises(ProviderError, match=r"refuses to transfer it \((REFUSED|NOTAUTH)\)"):
        await provider.records()
    with pytest.raises(ProviderError, match=r"refuses to update it \((REFUSED|NOTAUTH)\)"):
        await provider.apply([Change(None, record(NAME, "A", "192.0.2.1"))])


async def test_a_zone_that_the_server_does_not_have_is_told(server):
    with pytest.raises(ProviderError, match=r"of elsewhere\.org refuses to transfer it"):
        await opened(server, zone="elsewhere.org").records()


async def test_a_server_that_is_away_is_told():
    away = DynamicUpdates(ZONE, Rfc2136Settings("127.0.0.1", 1, timeout_seconds=60))
    with pytest.raises(ProviderError, match=r"the zone example\.com at 127\.0\.0\.1:1 cannot be transferred: "):
        await away.records()


async def test_a_name_that_the_policy_forbids_holds_up_no_other(bind_server):
    provider, forbidden = opened(bind_server), f"web.forbidden.{ZONE}"
    with pytest.raises(Refused):
        await provider.apply([Change(None, record(forbidden, "A", "192.0.2.1"))])
    names = [record(f"n{index}.{ZONE}", "A", "192.0.2.1") for index in range(9)]
    outcome = await publish(provider, service(*names, record(forbidden, "A", "192.0.2.1")))
    assert [each.name for each in outcome.conflicts] == [forbidden]
    assert {each.name for each in names} <= {each.name for each in await provider.records()}
    await withdraw(provider)


async def test_a_zone_that_the_server_signs_is_published_into_like_any_other():
    with knot(signing=True) as server:
        provider = opened(server)
        before = {each for each in await provider.records() if each.type != "SOA"}
        assert {each.type for each in before} > {"DNSKEY"}
        alias, addresses = record(ALIAS, "CNAME", f"{NAME}."), record(ALIAS, "A", "192.0.2.9")
        for wanted in (alias, addresses, alias):
            outcome = await publish(provider, service(record(NAME, "A", "192.0.2.1"), wanted))
            assert outcome.conflicts == ()
            assert [each for each in await provider.records() if each.name == ALIAS] == [wanted]
        assert (await publish(provider, service(record(NAME, "A", "192.0.2.1"), alias))).plan.steps == ()
        assert await server.ask(NAME, "A") == {"192.0.2.1"}
        assert await server.ask(ALIAS, "CNAME") == {f"{NAME}."}
        await withdraw(provider)
        assert {each for each in await provider.records() if each.type != "SOA"} == before
