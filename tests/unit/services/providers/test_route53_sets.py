"""Route 53's sets: routing by weight, latency, place and address, and reading everybody's."""

import pytest

from hanse.api.dns_zones import GEOLOCATION, LATENCY, MULTIVALUE, WEIGHTED, HealthCheckSettings, Route53Settings
from hanse.services.providers.interface import plain
from hanse.services.providers.route53_sets import Routing, api_sets, read_sets
from hanse.services.records import Datum, RecordSet

NAME = "web.shop.fed.example.com"
REGIONS = {"east": "us-east-1", "west": "eu-west-1", "north": "eu-west-1", "cellar": "home"}
WANTED = RecordSet(
    NAME,
    "A",
    180,
    (
        Datum("192.0.2.1", "east", 100, "10.0.0.1"),
        Datum("192.0.2.2", "west", 1000),
        Datum("192.0.2.3", "north", 1),
        Datum("192.0.2.4", "cellar", 500),
    ),
)


def routing(kind, **settings):
    return Routing(Route53Settings(routing=kind, **settings), lambda cluster: REGIONS.get(cluster, ""))


def sets(kind, **settings):
    made = api_sets(routing(kind, **settings).stored(WANTED), {})
    return {key[2]: told for key, told in made.items()}


def addresses(told):
    return [each["Value"] for each in told["ResourceRecords"]]


def test_weights_stay_in_proportion_within_route_53s_bounds():
    found = {identifier: told["Weight"] for identifier, told in sets(WEIGHTED).items()}
    assert found == {"weighted/east": 26, "weighted/west": 255, "weighted/north": 1, "weighted/cellar": 128}


def test_latency_has_one_set_a_region_and_clusters_elsewhere_are_in_each():
    found = {told["Region"]: addresses(told) for told in sets(LATENCY).values()}
    assert found == {
        "us-east-1": ["192.0.2.1", "192.0.2.4"],
        "eu-west-1": ["192.0.2.2", "192.0.2.3", "192.0.2.4"],
    }


def test_a_table_says_where_a_region_of_ones_own_is():
    found = {told["Region"]: addresses(told) for told in sets(LATENCY, regions={"home": "eu-central-1"}).values()}
    assert found["eu-central-1"] == ["192.0.2.4"]


def test_places_have_a_set_each_and_everybody_else_gets_all():
    found = sets(GEOLOCATION, regions={"eu-west-1": "country/IE"})
    assert {told["GeoLocation"].popitem(): addresses(told) for told in found.values()} == {
        ("CountryCode", "*"): ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"],
        ("ContinentCode", "NA"): ["192.0.2.1"],
        ("CountryCode", "IE"): ["192.0.2.2", "192.0.2.3"],
    }


def test_multivalue_has_a_set_for_each_address():
    found = sets(MULTIVALUE)
    assert sorted(found) == [f"multivalue/192.0.2.{last}" for last in (1, 2, 3, 4)]
    assert all(told["MultiValueAnswer"] is True for told in found.values())


@pytest.mark.parametrize("kind", [MULTIVALUE, WEIGHTED, LATENCY, GEOLOCATION])
def test_what_is_stored_is_what_is_read_again(kind):
    stored = routing(kind, health=HealthCheckSettings()).stored(WANTED)
    assert read_sets(api_sets(stored, {}).values()) == [stored]


def test_only_addresses_are_routed_and_only_where_a_place_is_known():
    alias = RecordSet(NAME, "CNAME", 60, (Datum("x.example.com.", "east"),))
    assert routing(WEIGHTED).stored(alias) == plain(alias)
    nowhere = RecordSet(NAME, "A", 60, (Datum("192.0.2.1", "cellar"),))
    assert routing(LATENCY).stored(nowhere) == plain(nowhere)


def test_another_health_check_makes_another_set():
    checked = routing(WEIGHTED, health=HealthCheckSettings(port=8443)).stored(WANTED)
    assert checked != routing(WEIGHTED).stored(WANTED)
    assert all(each.cluster.endswith("|TCP:8443 30s 3") for each in checked.data)


def test_text_has_octal_escapes_there_and_decimal_ones_here():
    text = RecordSet("t.example.com", "TXT", 60, (Datum('"gr\\195\\188n \\"x\\""'),))
    (told,) = api_sets(text, {}).values()
    assert addresses(told) == ['"gr\\303\\274n \\"x\\""']
    assert read_sets([told]) == [text]


def test_wildcards_and_alias_targets_of_others_are_read():
    theirs = [
        {"Name": "\\052.example.com.", "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": "203.0.113.1"}]},
        {"Name": "example.com.", "Type": "A", "AliasTarget": {"DNSName": "lb.example.net."}},
    ]
    assert {(each.name, each.values) for each in read_sets(theirs)} == {
        ("*.example.com", ("203.0.113.1",)),
        ("example.com", ("ALIAS lb.example.net.",)),
    }
