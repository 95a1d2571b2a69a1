"""A zone follows what its owners say, name by name."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanse.services.dns.names import to_text, to_wire
from hanse.services.dns.types import Type
from hanse.services.dns.zone import Nameserver, Zone
from hanse.services.dns.zones import Zones
from tests.unit.services.dns.asking import records, zone_of


def names(zone):
    return [to_text(name).removesuffix(".example.com.") for name, _ in zone.nodes() if name != zone.apex]


def has(zone, name):
    """What there is of a name: its types, [] for one with names below it, None for nothing."""
    node = zone.find(to_wire(f"{name}.example.com"))
    return None if node is None else sorted(Type(kind).name for kind in node)


def test_an_owner_replaces_its_own_names_and_no_others():
    zone = Zone("example.com")
    zone.replace("one", [records("a", "A", "192.0.2.1"), records("b", "A", "192.0.2.1")])
    zone.replace("two", [records("c", "A", "192.0.2.2")])
    zone.replace("one", [records("b", "CNAME", "c.example.com."), records("d", "A", "192.0.2.1")])

    assert names(zone) == ["b", "c", "d"]
    assert has(zone, "b") == ["CNAME"]
    assert has(zone, "a") is None


def test_names_above_names_are_there_as_long_as_these():
    zone = Zone("example.com")
    zone.replace("one", [records("x.y.z", "A", "192.0.2.1")])
    zone.replace("two", [records("z", "A", "192.0.2.2")])
    assert (has(zone, "y.z"), has(zone, "z"), has(zone, "x.y.z")) == ([], ["A"], ["A"])

    zone.replace("two", [])
    assert (has(zone, "y.z"), has(zone, "z")) == ([], [])

    zone.replace("one", [])
    assert [has(zone, name) for name in ("x.y.z", "y.z", "z")] == [None, None, None]
    assert zone.find(zone.apex)


def test_the_first_to_hold_a_name_keeps_it_and_leaves_it_to_the_next():
    zone = Zone("example.com")
    zone.replace("one", [records("a", "A", "192.0.2.1")])
    zone.replace("two", [records("a", "CNAME", "b.example.com.")])
    assert has(zone, "a") == ["A"]

    zone.replace("one", [])
    assert has(zone, "a") == ["CNAME"]


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (records("a..b", "A", "192.0.2.1"), "no domain name"),
        (records(".".join(["x" * 60] * 4), "A", "192.0.2.1"), "no domain name"),
        (records("a", "A", "one"), "no value of a record of type A"),
        (records("a", "SPF", "x"), "no type SPF"),
        (records("a", "CNAME", "x" * 64), "no value of a record of type CNAME"),
    ],
)
def test_what_cannot_be_served_is_left_out_with_a_sentence_and_the_rest_is_served(refused, why):
    zone = Zone("example.com")
    [told] = zone.replace("one", [refused, records("ok", "A", "192.0.2.1")])

    assert why in told
    assert names(zone) == ["ok"]


def test_names_of_another_domain_are_left_out():
    zone = Zone("sub.example.com")

    assert zone.replace("one", [records("a", "A", "192.0.2.1")]) == ["a.example.com is not in sub.example.com"]


def test_the_serial_grows_with_changes_and_only_with_them():
    zone = Zone("example.com", now=100.0)
    assert zone.serial == 100
    assert not zone.commit(200.0)

    zone.replace("one", [records("a", "A", "192.0.2.1")])
    assert zone.commit(200.0)
    assert zone.serial == 200
    zone.replace("one", [records("a", "A", "192.0.2.1")])
    assert not zone.commit(300.0)

    zone.replace("one", [])
    assert zone.commit(200.0)
    assert zone.serial == 201
    assert (201).to_bytes(4) in zone.soa


def test_everyone_who_asked_hears_of_zones_that_are_new_or_changed():
    zones, heard = Zones(), []
    zones.subscribe(lambda zone: heard.append((zone.domain, zone.serial)))
    zone = zone_of(records("a", "A", "192.0.2.1"))
    zones.put(zone)
    zones.commit(5000.0)
    zone.replace("test", [])
    zones.commit(6000.0)

    assert heard == [("example.com", 1001), ("example.com", 6000)]
    assert zones.get("Example.com.") is zone
    zones.remove("example.com")
    assert zones.of(to_wire("a.example.com")) is None


def test_servers_in_the_zone_have_their_addresses_there():
    zone = Zone(
        "example.com",
        [Nameserver("NS1.example.com", ("192.0.2.1", "192.0.2.2")), Nameserver("ns.example.org", ("192.0.2.3",))],
    )

    assert names(zone) == ["ns1"]
    assert has(zone, "ns1") == ["A"]
    assert len(zone.find(to_wire("ns1.example.com"))[Type.A].entries) == 2


NAME = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(".".join)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.lists(NAME, max_size=4, unique=True)), max_size=8))
def test_a_zone_is_the_same_whatever_way_led_to_it(changes):
    zone, last = Zone("example.com"), {}
    for owner, owned in changes:
        zone.replace(owner, [records(name, "A", "192.0.2.1") for name in owned])
        last[owner] = owned
    wanted = {name for owned in last.values() for name in owned}
    above = {name.split(".", depth)[-1] for name in wanted for depth in range(1, name.count(".") + 1)}

    assert set(names(zone)) == wanted
    assert {name for name in (*wanted, *above) if has(zone, name) is None} == set()
    fresh = Zone("example.com")
    for owner, owned in last.items():
        fresh.replace(owner, [records(name, "A", "192.0.2.1") for name in owned])
    assert zone._nodes == fresh._nodes
