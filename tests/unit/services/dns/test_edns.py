"""Sizes, subnets of clients and declared places: what a question says beside its name."""

import dns.edns
import dns.flags
import dns.message
import pytest

from hanse.services.geography.atlas import Atlas
from hanse.services.geography.distances import Distances
from hanse.services.geography.subnets import Subnets
from hanse.services.geography.vantage import Vantage
from hanse.services.records import Datum
from tests.unit.services.dns.asking import CLIENT, PLACES, ask, authority_of, question, rcode, records, values


def option(code, data):
    """Any option of EDNS, well-formed or not."""
    return dns.edns.GenericOption(dns.edns.OptionType.make(code), data)


WEB = records("web", "A", Datum("1.1.1.1", "c-us", inside="10.0.0.1"), Datum("2.2.2.2", "c-eu", inside="10.0.0.2"))
ATLAS = Atlas(
    PLACES,
    subnets=Subnets(
        [
            ("198.51.100.0/24", Vantage(region="eu")),
            ("203.0.113.0/24", Vantage(cluster="c-us")),
            ("2001:db8:e::/48", Vantage(region="eu")),
        ]
    ),
    distances=Distances([("us", "eu", 6000)]),
)
US_FIRST, EU_FIRST, IN_US, IN_EU = (
    ["1.1.1.1", "2.2.2.2"],
    ["2.2.2.2", "1.1.1.1"],
    ["10.0.0.1", "2.2.2.2"],
    ["10.0.0.2", "1.1.1.1"],
)

# Options of the question, where it comes from, and the order of the answer.
ASKERS = {
    "declared region": ([option(65001, b"region/eu")], CLIENT, EU_FIRST),
    "declared zone": ([option(65001, b"zone/us/us-a")], CLIENT, US_FIRST),
    "declared cluster": ([option(65001, b"cluster/c-eu")], CLIENT, IN_EU),
    "subnet of a client": ([dns.edns.ECSOption("198.51.100.0", 24)], CLIENT, EU_FIRST),
    "subnet of a client in a cluster": ([dns.edns.ECSOption("203.0.113.0", 24)], CLIENT, IN_US),
    "subnet of IPv6": ([dns.edns.ECSOption("2001:db8:e::", 56)], CLIENT, EU_FIRST),
    "declared before subnet": (
        [dns.edns.ECSOption("198.51.100.0", 24), option(65001, b"cluster/c-us")],
        CLIENT,
        IN_US,
    ),
    "source of the question": ([], "198.51.100.9", EU_FIRST),
    "subnet before source": ([dns.edns.ECSOption("198.51.100.0", 24)], "203.0.113.1", EU_FIRST),
}
# The subnet that is sent, and the scope that is told.
SCOPES = {
    "an entry of the table": ("198.51.100.77", 32, 24),
    "beside every entry": ("9.0.0.0", 24, 1),
    "nothing is told": ("0.0.0.0", 0, 0),
    "IPv6": ("2001:db8:e:1::", 64, 48),
}
BAD_OPTIONS = {
    "subnet without a length": (8, b"\0\1"),
    "subnet with a scope": (8, b"\0\1\x18\x18\xc6\x33\x64"),
    "subnet longer than addresses": (8, b"\0\1\x21\0\xc6\x33\x64\x01\x01"),
    "subnet with too few bytes": (8, b"\0\1\x18\0\xc6\x33"),
    "subnet with bits beyond it": (8, b"\0\1\x17\0\xc6\x33\x65"),
}


@pytest.mark.parametrize(("options", "source", "order"), ASKERS.values(), ids=ASKERS.keys())
def test_the_nearest_comes_first_for_each_asker(options, source, order):
    authority = authority_of(WEB, atlas=ATLAS)

    assert values(ask(authority, "web.example.com", options=options, use_edns=0, source=source)) == order


def test_all_addresses_are_in_every_answer_and_chance_orders_equals():
    authority = authority_of(WEB, atlas=ATLAS)
    seen = [tuple(values(ask(authority, "web.example.com"))) for _ in range(40)]

    assert set(seen) == {tuple(US_FIRST), tuple(EU_FIRST)}


@pytest.mark.parametrize(("address", "length", "scope"), SCOPES.values(), ids=SCOPES.keys())
def test_a_clients_subnet_comes_back_with_the_scope_of_the_answer(address, length, scope):
    sent = dns.edns.ECSOption(address, length)
    answer = ask(authority_of(WEB, atlas=ATLAS), "web.example.com", options=[sent], use_edns=0)

    [told] = answer.options
    assert (told.family, told.srclen, told.scopelen) == (sent.family, sent.srclen, scope)
    assert told.to_wire()[4:] == sent.to_wire()[4:]


def test_who_names_no_subnet_is_told_none():
    assert ask(authority_of(WEB, atlas=ATLAS), "web.example.com", use_edns=0).options == ()


@pytest.mark.parametrize("place", [b"moon", b"\xff\xfe", b"", b"region/" + b"x" * 300])
def test_a_place_that_makes_no_sense_is_as_good_as_none(place):
    answer = ask(
        authority_of(WEB, atlas=ATLAS),
        "web.example.com",
        options=[option(65001, place)],
        use_edns=0,
        source="198.51.100.9",
    )

    assert values(answer) == EU_FIRST


@pytest.mark.parametrize(("code", "data"), BAD_OPTIONS.values(), ids=BAD_OPTIONS.keys())
def test_options_that_contradict_themselves_are_a_malformed_question(code, data):
    sent = question("web.example.com", use_edns=0, options=[option(code, data)])

    told = authority_of(WEB).answer(sent.to_wire(), CLIENT)

    assert told[3] & 0xF == 1


def test_a_subnet_of_a_family_that_nobody_knows_is_passed_over():
    sent = option(8, b"\0\x63\x08\0\x01")
    answer = ask(authority_of(WEB, atlas=ATLAS), "web.example.com", options=[sent], use_edns=0, source="198.51.100.9")

    assert values(answer) == EU_FIRST
    assert answer.options == ()


def test_unknown_options_and_cookies_are_passed_over():
    options = [option(10, b"12345678"), option(65432, b"x")]

    assert len(values(ask(authority_of(WEB), "web.example.com", options=options, use_edns=0))) == 2


MANY = records("many", "A", *(f"10.0.{index // 250}.{index % 250 + 1}" for index in range(100)))


@pytest.mark.parametrize("payload", [None, 0, 512, 1200, 4096, 65535])
def test_an_answer_that_is_too_long_is_to_be_asked_for_again_by_tcp(payload):
    authority = authority_of(MANY)
    options = {} if payload is None else {"use_edns": 0, "payload": payload}
    answer = ask(authority, "many.example.com", **options)

    assert answer.flags & dns.flags.TC
    assert not answer.answer
    assert len(answer.to_wire()) <= 512
    assert len(values(ask(authority, "many.example.com", over_tcp=True, **options))) == 100
    assert authority.statistics.truncated == 1


def test_no_more_is_sent_by_udp_than_the_asker_takes():
    authority = authority_of(records("some", "A", *(f"10.0.0.{index}" for index in range(1, 41))))

    assert ask(authority, "some.example.com").flags & dns.flags.TC
    assert ask(authority, "some.example.com", use_edns=0, payload=600).flags & dns.flags.TC
    assert len(values(ask(authority, "some.example.com", use_edns=0, payload=1232))) == 40


def test_what_is_merely_helpful_gives_way_to_the_size():
    targets = [records(f"t{index}", "A", f"10.0.0.{index}") for index in range(1, 16)]
    services = records("_x._tcp.web", "SRV", *(f"0 1 80 t{index}.example.com." for index in range(1, 16)))
    answer = ask(authority_of(services, *targets), "_x._tcp.web.example.com", "SRV", use_edns=0, payload=700)

    assert len(values(answer)) == 15
    assert not answer.flags & dns.flags.TC
    assert 0 < len(answer.additional) < 15
    assert rcode(answer) == "NOERROR"
