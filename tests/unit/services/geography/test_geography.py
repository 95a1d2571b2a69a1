"""Where an asker is, and how far from each region."""

from ipaddress import ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.services.geography.distances import FAR, Distances, great_circle_km
from hanse.services.geography.regions import REGIONS
from hanse.services.geography.subnets import Subnets
from hanse.services.geography.vantage import NOWHERE, Vantage, parse_vantage

PLACES = {
    "cluster/eu-1": Vantage(cluster="eu-1"),
    "region/eu": Vantage(region="eu"),
    "zone/eu/eu-a": Vantage(region="eu", zone="eu-a"),
}

TABLE = Subnets(
    [
        ("10.0.0.0/8", Vantage(region="eu")),
        ("10.1.0.0/16", Vantage(cluster="eu-1")),
        ("10.1.2.0/24", Vantage(region="eu", zone="eu-b")),
        ("2001:db8::/32", Vantage(region="us")),
    ]
)

# Of an address: what is looked up, and what is found.
ADDRESSES = {
    "longest prefix": ("10.1.2.3", Vantage(region="eu", zone="eu-b")),
    "middle one": ("10.1.3.3", Vantage(cluster="eu-1")),
    "shortest": ("10.9.9.9", Vantage(region="eu")),
    "none": ("192.0.2.1", NOWHERE),
    "IPv6": ("2001:db8:1::1", Vantage(region="us")),
    "IPv4 on a socket of IPv6": ("::ffff:10.1.2.3", Vantage(region="eu", zone="eu-b")),
    "with an interface": ("fe80::1%eth0", NOWHERE),
    "no address": ("somewhere", NOWHERE),
}

# Of a client's subnet: what is told, what is found, and for how long a prefix that holds.
PREFIXES = {
    "finer than told is not guessed": ("10.1.0.0/16", Vantage(cluster="eu-1"), 16),
    "an entry that nothing divides": ("10.1.2.128/25", Vantage(region="eu", zone="eu-b"), 24),
    "the part of an entry beside a finer one": ("10.1.128.0/24", Vantage(cluster="eu-1"), 17),
    "in no subnet, beside one": ("192.0.2.0/24", NOWHERE, 1),
    "only a little is told": ("10.0.0.0/7", NOWHERE, 7),
    "IPv6": ("2001:db8:7::/48", Vantage(region="us"), 32),
}

# Regions from the nearest to the farthest, seen from the first.
JOURNEYS = (
    ("us-east-1", "us-east4", "us-east-2", "us-west-2", "eu-west-1", "ap-northeast-1"),
    ("europe-west3", "eu-central-1", "westeurope", "eu-west-1", "us-east1", "australiaeast"),
    ("eastasia", "ap-east-1", "asia-east1", "japaneast", "us-west-2", "sa-east-1"),
)


@pytest.mark.parametrize(("text", "place"), PLACES.items())
def test_a_place_is_read_as_it_is_written(text, place):
    assert parse_vantage(text) == place
    assert str(place) == text


@pytest.mark.parametrize(
    "text", ["", "eu", "cluster/", "region/a/b", "zone/eu", "zone//a", "planet/mars", "region/" + "x" * 254]
)
def test_what_is_no_place_is_refused_with_what_could_be_written(text):
    with pytest.raises(ValueError, match="write cluster/NAME"):
        parse_vantage(text)


@pytest.mark.parametrize(("address", "place"), ADDRESSES.values(), ids=ADDRESSES.keys())
def test_an_address_is_where_its_longest_prefix_says(address, place):
    assert TABLE.of_address(address) == place


@pytest.mark.parametrize(("told", "place", "scope"), PREFIXES.values(), ids=PREFIXES.keys())
def test_a_clients_subnet_is_found_with_the_prefix_for_which_that_holds(told, place, scope):
    network = ip_network(told)

    found = TABLE.of_prefix(network.version, int(network.network_address), network.prefixlen)

    assert (found.vantage, found.scope) == (place, scope)


def test_an_empty_table_knows_nobody_and_says_so_of_everybody():
    found = Subnets().of_prefix(4, 0x0A000000, 24)

    assert (found.vantage, found.scope) == (NOWHERE, 0)
    assert not Subnets()


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(8, 32))
def test_all_of_a_scope_are_at_the_same_place(address, other, length):
    told = address >> (32 - length) << (32 - length)
    found = TABLE.of_prefix(4, told, length)
    host_bits = 32 - found.scope
    neighbour = (told >> host_bits << host_bits) | (other & ((1 << host_bits) - 1))

    assert found.scope <= length
    if found.scope < length:
        assert TABLE.of_prefix(4, neighbour, 32).vantage == found.vantage


@pytest.mark.parametrize("journey", JOURNEYS, ids=lambda journey: journey[0])
def test_well_known_regions_are_as_far_as_on_a_map(journey):
    here = journey[0]
    ways = [Distances().between(here, there) for there in journey]

    assert ways == sorted(ways)
    assert ways[0] == 0.0
    assert ways[-1] < FAR


def test_every_known_region_is_on_the_globe():
    assert len(REGIONS) > 120
    assert all(-90 <= north <= 90 and -180 <= east <= 180 for north, east in REGIONS.values())


def test_the_way_over_the_globe_is_right_for_ways_that_are_known():
    quarter, half = great_circle_km((0, 0), (0, 90)), great_circle_km((0, 0), (0, 180))

    assert quarter == pytest.approx(10_007.5, abs=1)
    assert half == pytest.approx(FAR, abs=1)


def test_what_is_configured_counts_before_the_map_and_for_the_way_back():
    distances = Distances([("us-east-1", "eu-west-1", 7), ("attic", "cellar", 2), ("cellar", "attic", 3)])

    assert distances.between("us-east-1", "eu-west-1") == 7
    assert distances.between("eu-west-1", "us-east-1") == 7
    assert (distances.between("attic", "cellar"), distances.between("cellar", "attic")) == (2, 3)


@pytest.mark.parametrize(("here", "there", "way"), [("a", "a", 0.0), ("a", "b", FAR), ("", "a", FAR), ("", "", FAR)])
def test_unknown_regions_are_near_only_to_themselves(here, there, way):
    assert Distances().between(here, there) == way
