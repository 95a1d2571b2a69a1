"""Which names a service has, and where they lead: federation v1's checklist, line by line."""

import pytest

from hanse.services.naming import label
from hanse.services.presence import Place
from hanse.services.records import records_of
from tests.unit.services.cases import FEDERATION, HOSTNAME, PLACES, STEM, presence, service

GLOBAL = f"{STEM}.my-domain.com"
US, EU = f"{STEM}.us.my-domain.com", f"{STEM}.eu.my-domain.com"
US_A, EU_A = f"{STEM}.us-a.us.my-domain.com", f"{STEM}.eu-a.eu.my-domain.com"


def told(found, places=PLACES, *, kinds=("A", "AAAA", "CNAME")):
    records = records_of(found, FEDERATION, places)
    return {(each.name, each.type): each.values for each in records if each.type in kinds}


def levels(found, places=PLACES):
    """The levels without the two names that every client is told, and without those of single clusters."""
    own = tuple(f"{each.cluster}." for each in found.presences)
    return {
        name: values
        for (name, _), values in told(found, places).items()
        if name != HOSTNAME and not name.startswith(own)
    }


def test_the_global_name_has_the_address_of_every_healthy_cluster_for_180_seconds():
    found = service(*(presence(name, ip) for name, ip in zip("abc", SEED, strict=True)))
    records = {each.name: each for each in records_of(found, FEDERATION, {}) if each.type == "A"}
    for name in (HOSTNAME, GLOBAL):
        assert (records[name].values, records[name].ttl) == (tuple(sorted(SEED)), 180)


SEED = ("104.197.117.10", "104.197.74.77", "104.197.38.157")
OUT = {"serving": False, "why": "none of its endpoints is ready"}

LEVELS = {
    "a region without a healthy cluster is led on to the global name": (
        [presence("c-us", "1.1.1.1"), presence("c-eu", "2.2.2.2", **OUT)],
        {
            US_A: ("1.1.1.1",),
            US: ("1.1.1.1",),
            GLOBAL: ("1.1.1.1",),
            EU_A: (f"{EU}.",),
            EU: (f"{GLOBAL}.",),
        },
    ),
    "nobody healthy leaves no global name": (
        [presence("c-us", "1.1.1.1", **OUT), presence("c-eu", "2.2.2.2", **OUT)],
        {US_A: (f"{US}.",), US: (f"{GLOBAL}.",), EU_A: (f"{EU}.",), EU: (f"{GLOBAL}.",)},
    ),
    "a cluster that becomes healthy has addresses on its levels again": (
        [presence("c-us", "1.1.1.1"), presence("c-eu", "2.2.2.2")],
        {
            US_A: ("1.1.1.1",),
            US: ("1.1.1.1",),
            EU_A: ("2.2.2.2",),
            EU: ("2.2.2.2",),
            GLOBAL: ("1.1.1.1", "2.2.2.2"),
        },
    ),
    "a cluster that left has no name of its own any more": (
        [presence("c-us", "1.1.1.1")],
        {US_A: ("1.1.1.1",), US: ("1.1.1.1",), GLOBAL: ("1.1.1.1",)},
    ),
    "a dead address is out and the others of its cluster stay": (
        [presence("c-us", "1.1.1.1", "1.1.1.2", dead=("1.1.1.2",))],
        {US_A: ("1.1.1.1",), US: ("1.1.1.1",), GLOBAL: ("1.1.1.1",)},
    ),
}


@pytest.mark.parametrize(("presences", "expected"), LEVELS.values(), ids=LEVELS)
def test_levels(presences, expected):
    assert levels(service(*presences)) == expected


FRONT = ("107.194.17.44",)


def test_behind_a_balancer_in_front_of_all_clusters_every_name_leads_there():
    found = service(presence("c-us", "1.1.1.1"), presence("c-eu", "2.2.2.2", **OUT), front=FRONT)
    assert told(found) == {
        (HOSTNAME, "A"): FRONT,
        (GLOBAL, "A"): FRONT,
        (US, "CNAME"): (f"{GLOBAL}.",),
        (US_A, "CNAME"): (f"{US}.",),
        (EU, "CNAME"): (f"{GLOBAL}.",),
        (EU_A, "CNAME"): (f"{EU}.",),
    }
    ports = told(found, kinds=("SRV",))
    assert all(values[0].endswith(f" {HOSTNAME}.") for values in ports.values())


def test_nobody_is_led_to_a_balancer_behind_which_nobody_serves():
    found = service(presence("c-us", "1.1.1.1", **OUT), front=FRONT)
    assert {kind for _, kind in told(found)} == {"CNAME"}


def test_a_service_that_is_gone_has_no_record():
    assert records_of(service(), FEDERATION, PLACES) == []


def test_a_service_without_names_has_no_record():
    assert records_of(service(presence("c-us", "1.1.1.1"), published=False), FEDERATION, PLACES) == []


def test_a_cluster_with_two_zones_has_names_in_both():
    places = {"c-us": Place("c-us", "us", ("us-a", "us-b"))}
    found = levels(service(presence("c-us", "1.1.1.1")), places)
    assert found[US_A] == found[f"{STEM}.us-b.us.my-domain.com"] == ("1.1.1.1",)


def test_a_cluster_of_which_no_region_is_known_has_only_the_global_names():
    found = told(service(presence("c-us", "1.1.1.1")), {"c-us": Place("c-us")})
    assert set(found) == {(HOSTNAME, "A"), (GLOBAL, "A"), (f"c-us.{GLOBAL}", "A")}


def test_ipv6_addresses_are_in_records_of_their_own():
    found = told(service(presence("c-us", "1.1.1.1", "2001:db8::1")))
    assert (found[HOSTNAME, "A"], found[HOSTNAME, "AAAA"]) == (("1.1.1.1",), ("2001:db8::1",))


def test_a_named_port_is_found_with_the_cluster_that_serves_it():
    found = service(presence("c-us", "1.1.1.1", weight=3), presence("c-eu", "2.2.2.2", **OUT))
    records = told(found, kinds=("SRV",))
    assert records[f"_client._tcp.{HOSTNAME}", "SRV"] == (f"0 3 2379 c-us.{GLOBAL}.",)
    assert f"_client._tcp.{EU}" not in {name for name, _ in records}


def test_askers_in_the_cluster_itself_get_the_address_inside_of_it():
    found = service(presence("c-us", "1.1.1.1", "2001:db8::1", cluster_ips=("10.0.153.185",)))
    inside = {each.type: each.data[0].inside for each in records_of(found, FEDERATION, {}) if each.name == HOSTNAME}
    assert inside == {"A": "10.0.153.185", "AAAA": ""}


def test_the_order_of_clusters_does_not_matter():
    both = [presence("c-us", "1.1.1.1"), presence("c-eu", "2.2.2.2")]
    assert records_of(service(*both), FEDERATION, PLACES) == records_of(service(*both[::-1]), FEDERATION, PLACES)


@pytest.mark.parametrize(
    ("text", "expected"), [("us-east-1", "us-east-1"), ("US_East.1", "us-east-1"), ("-", "x"), ("a" * 70, "a" * 63)]
)
def test_regions_become_labels(text, expected):
    assert label(text) == expected
