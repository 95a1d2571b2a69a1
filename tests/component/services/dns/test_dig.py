"""The built-in server on loopback, asked by the real dig over UDP and TCP."""

import asyncio
import re
from dataclasses import replace
from ipaddress import ip_network

import pytest

from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.services.dns.limits import Limits
from hanse.services.dns.server import DnsServer
from hanse.services.dns.zone import Zone
from hanse.services.dns.zones import Zones
from hanse.services.geography.atlas import Atlas
from hanse.services.geography.distances import Distances
from hanse.services.geography.subnets import Subnets
from hanse.services.geography.vantage import Vantage
from hanse.services.naming import Federation
from hanse.services.presence import FederatedService, Place, Port, Presence
from hanse.services.records import records_of
from tests.component.services.dns.dig import answered, dig, needs_dig

pytestmark = needs_dig

FEDERATION = Federation("my-federation", "my-domain.com")
PLACES = {
    "cluster-1": Place("cluster-1", "us-central1", ("us-central1-a",)),
    "cluster-2": Place("cluster-2", "us-east1", ("us-east1-b",)),
    "cluster-3": Place("cluster-3", "europe-west1", ("europe-west1-c",)),
}
NAME = "my-service.my-namespace.my-federation.my-domain.com"
PORTS = (Port("client", "TCP", 2379), Port("peer", "TCP", 2380))
ADDRESSES = {"cluster-1": "104.197.117.10", "cluster-2": "104.197.74.77", "cluster-3": "104.197.38.157"}

# The three outputs of the first design, as they are printed there.
BASIC = """
    my-service.my-namespace.my-federation.my-domain.com 180 IN	A 104.197.117.10
    my-service.my-namespace.my-federation.my-domain.com 180 IN	A 104.197.74.77
    my-service.my-namespace.my-federation.my-domain.com 180 IN	A 104.197.38.157
"""
BALANCED = """
    my-service.my-namespace.my-federation.my-domain.com 180 IN	A 107.194.17.44
"""
LOCAL_FIRST = """
    my-service.my-namespace.my-federation.my-domain.com 180 IN	A 10.0.153.185
    my-service.my-namespace.my-federation.my-domain.com 180 IN	A 104.197.74.77
    my-service.my-namespace.my-federation.my-domain.com 180 IN	A 104.197.38.157
"""


def printed(text):
    """Lines as dig prints them: it ends names with a dot, which the design leaves out."""
    return [re.sub(r"^(\S+)", r"\1.", " ".join(line.split())) for line in text.strip().splitlines()]


def everywhere():
    presences = tuple(
        Presence(cluster, (address,), ("10.0.153.185",) if cluster == "cluster-1" else ())
        for cluster, address in ADDRESSES.items()
    )
    return FederatedService(Key("my-namespace", "my-service"), PORTS, presences)


class Stage:
    """A server on loopback and its zone; askers there are in us-central1."""

    def __init__(self, service, **options):
        self.zone = Zone("my-domain.com", now=SystemRuntime().now())
        self.zone.replace(service.key, records_of(service, FEDERATION, PLACES))
        atlas = Atlas(
            PLACES,
            subnets=Subnets([("127.0.0.0/8", Vantage(region="us-central1"))]),
            distances=Distances(),
        )
        self.zones = Zones(self.zone, atlas=atlas)
        self.server = DnsServer(self.zones, SystemRuntime(), **options)

    async def __aenter__(self):
        await self.server.start("127.0.0.1", 0)
        return self.server

    async def __aexit__(self, *_):
        await self.server.close()


@pytest.mark.parametrize("way", ["+notcp", "+tcp"])
async def test_the_basic_output_of_the_design_is_reproduced(way):
    async with Stage(everywhere()) as server:
        assert await answered(server, way, NAME) == printed(BASIC)


async def test_the_output_behind_one_global_balancer_is_reproduced():
    balanced = replace(everywhere(), front=("107.194.17.44",))
    async with Stage(balanced) as server:
        assert await answered(server, NAME) == printed(BALANCED)


async def test_the_output_in_a_cluster_is_reproduced_by_a_resolver_that_says_where_it_is():
    declared = b"cluster/cluster-1".hex()
    async with Stage(everywhere()) as server:
        assert await answered(server, f"+ednsopt=65001:{declared}", NAME) == printed(LOCAL_FIRST)


async def test_dig_is_content_with_every_sort_of_answer():
    async with Stage(everywhere()) as server:
        europe = "my-service.my-namespace.my-federation.svc.europe-west1.my-domain.com"
        asked = {
            "a region": await answered(server, europe),
            "a subnet": await answered(server, "+subnet=127.1.2.0/24", NAME),
            "a port": await answered(server, f"_client._tcp.{NAME}", "SRV"),
        }
        refused = await dig(server, "www.example.org")
        absent = await dig(server, "+dnssec", f"not-{NAME}")
        version = await dig(server, "version.bind", "CH", "TXT")

    assert asked["a region"] == [f"{europe}. 180 IN A 104.197.38.157"]
    assert asked["a subnet"] == printed(BASIC)
    assert [line.split()[4:7] for line in asked["a port"]] == [
        ["0", "1", "2379"],
        ["1", "1", "2379"],
        ["2", "1", "2379"],
    ]
    assert any("status: REFUSED" in line for line in refused)
    assert any("status: NXDOMAIN" in line for line in absent)
    assert any("flags: qr aa rd;" in line for line in absent)
    assert any("flags: do;" in line for line in absent)
    assert any("status: REFUSED" in line for line in version)
    for page in (refused, absent, version):
        assert not any("malformed" in line.lower() or "mismatch" in line.lower() for line in page)


async def test_an_answer_too_long_for_udp_comes_by_tcp_by_itself():
    presences = tuple(Presence(f"c-{number}", (f"10.0.{number}.1",)) for number in range(120))
    service = FederatedService(Key("my-namespace", "my-service"), (), presences)
    async with Stage(service) as server:
        lines = await answered(server, NAME)
        assert len(lines) == 120
        assert server.statistics.truncated == 1
        assert server.statistics.connections == 1


async def test_a_transfer_goes_to_friends_alone():
    async with Stage(everywhere()) as server:
        assert await dig(server, "my-domain.com", "AXFR", "+noall", "+answer") == ["; Transfer failed."]
    async with Stage(everywhere(), transfers=(ip_network("127.0.0.0/8"),)) as server:
        lines = await answered(server, "my-domain.com", "AXFR", "+onesoa")

    kinds = [line.split()[3] for line in lines]
    assert (kinds.count("SOA"), kinds.count("NS"), kinds.count("SRV")) == (1, 1, 24)
    assert f"{NAME}. 180 IN A 104.197.38.157" in lines
    assert not any("10.0.153.185" in line for line in lines)


async def test_many_questions_on_one_connection_are_answered_in_their_order():
    async with Stage(everywhere()) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        for number in range(50):
            question = number.to_bytes(2) + b"\1\0\0\1\0\0\0\0\0\0" + b"\x09my-domain\3com\0\0\6\0\1"
            writer.write(len(question).to_bytes(2) + question)
        async with asyncio.timeout(60):
            for number in range(50):
                answer = await reader.readexactly(int.from_bytes(await reader.readexactly(2)))
                assert answer[:2] == number.to_bytes(2)
        writer.close()


async def test_who_holds_too_many_connections_is_turned_away():
    async with Stage(everywhere(), limits=Limits(tcp_connections_per_client=2)) as server:
        held = [await asyncio.open_connection(server.host, server.port) for _ in range(3)]
        reading = [asyncio.create_task(reader.read()) for reader, _ in held]
        async with asyncio.timeout(60):
            done, others = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in done] == [b""]
        assert (len(others), server.statistics.turned_away) == (2, 1)
        for _, writer in held:
            writer.close()
        await asyncio.gather(*others)


async def test_a_silent_connection_is_ended():
    async with Stage(everywhere(), limits=Limits(tcp_idle_seconds=0.01)) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        async with asyncio.timeout(60):
            assert await reader.read() == b""
        writer.close()


async def test_a_changed_service_is_answered_at_once():
    stage = Stage(everywhere())
    async with stage as server:
        assert len(await answered(server, NAME)) == 3
        stage.zone.replace(Key("my-namespace", "my-service"), [])
        assert await answered(server, NAME) == []


async def test_a_network_that_asks_too_much_is_sent_to_tcp_and_then_not_answered():
    limits = Limits(answers_per_second=1, exempt=())
    question = b"\0\1\1\0\0\1\0\0\0\0\0\0" + b"\x09my-domain\3com\0\0\6\0\1"
    server = Stage(everywhere(), limits=limits).server
    answers = [server.answer_datagram(question, "192.0.2.1") for _ in range(5)]

    # Of those beyond the first every other one is answered emptily, with the bit that leads to TCP.
    assert [None if answer is None else bool(answer[2] & 2) for answer in answers] == [False, None, True, None, True]
    assert server.statistics.limited == 4


async def test_ipv6_and_a_shared_port_are_served():
    one, other = Stage(everywhere()), Stage(everywhere())
    try:
        await one.server.start("::1", 0, reuse_port=True)
    except OSError as error:
        pytest.skip(f"there is no IPv6 here: {error}")
    try:
        await other.server.start("::1", one.server.port, reuse_port=True)
        assert one.server.address == other.server.address == f"[::1]:{one.server.port}"
        assert len(await answered(one.server, NAME)) == 3
        assert len(await answered(one.server, "+tcp", NAME)) == 3
        await one.server.start("127.0.0.1", 0)
        assert one.server.host == "::1"
    finally:
        await one.server.close()
        await other.server.close()


async def test_a_port_that_is_taken_is_an_error():
    async with Stage(everywhere()) as server:
        with pytest.raises(OSError, match="in use"):
            await Stage(everywhere()).server.start(server.host, server.port)
