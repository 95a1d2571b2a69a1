"""Whose addresses clients of an application are told, and with which weight."""

from dataclasses import replace

import pytest

from hanse.api.service_addresses import SERVICE_ADDRESSES_CRD
from hanse.kube.manifest import Key, dig
from hanse.rollouts.weights.mixing import entries_of, leads, mix
from hanse.rollouts.weights.shares import Name, Share

NAME = Name(Key("shop", "web"))
OLD, NEW = "web-1-0", "web-2-0"
HTTP, ADMIN = {"name": "http", "protocol": "TCP", "port": 80}, {"name": "admin", "protocol": "TCP", "port": 81}
OUT = {"serving": False, "why": "none of its endpoints is ready"}


def entry(cluster, address, backends=1, **more):
    return {"name": cluster, "addresses": [address], "backends": backends, "serving": True, **more}


def spec(release, *entries, ports=(HTTP,), ttl=180):
    hostname = f"{release}-web.shop.fed.example.com"
    return {"hostname": hostname, "published": True, "ttlSeconds": ttl, "ports": list(ports), "clusters": list(entries)}


def share(release, weights, *entries, complete=False, **more):
    return Share(release, weights, spec(release, *entries, **more), complete)


def led(mixed):
    """By cluster and release, the weight of everybody to whom clients are led."""
    return {place: each.get("weight", 1) for place, each in entries_of(mixed).items() if leads(each)}


BOTH = (
    [entry("eu", "192.0.2.1", 9), entry("us", "192.0.2.2", 3)],
    [entry("eu", "192.0.2.3", 1), entry("us", "192.0.2.4", 1)],
)

WEIGHTS = {
    "within a cluster as weights say, between clusters by ready endpoints": (
        {"eu": 90, "us": 90},
        {"eu": 10, "us": 10},
        BOTH,
        {("eu", OLD): 45, ("eu", NEW): 5, ("us", OLD): 18, ("us", NEW): 2},
    ),
    "a release of weight 0 leads nobody": (
        {"eu": 0, "us": 0},
        {"eu": 100, "us": 100},
        BOTH,
        {("eu", NEW): 1, ("us", NEW): 1},
    ),
    "each cluster by its own weights": (
        {"eu": 1, "us": 1},
        {"eu": 1, "us": 0},
        BOTH,
        {("eu", OLD): 5, ("eu", NEW): 5, ("us", OLD): 3},
    ),
    "who does not serve leaves its part to others of its cluster": (
        {"eu": 50, "us": 50},
        {"eu": 50, "us": 50},
        ([entry("eu", "192.0.2.1", 4), entry("us", "192.0.2.2", 4)], [entry("eu", "192.0.2.3", 0, **OUT), BOTH[1][1]]),
        {("eu", OLD): 8, ("us", OLD): 5, ("us", NEW): 5},
    ),
    "endpoints that are not known count as one": (
        {"eu": 1},
        {"eu": 1, "us": 1},
        (
            [{"name": "eu", "addresses": ["192.0.2.1"], "serving": True}],
            [entry("eu", "192.0.2.3"), entry("us", "192.0.2.4")],
        ),
        {("eu", OLD): 1, ("eu", NEW): 1, ("us", NEW): 1},
    ),
    "little is not nothing, and numbers stay small": (
        {"eu": 1_000_000},
        {"eu": 1},
        ([entry("eu", "192.0.2.1")], [entry("eu", "192.0.2.3")]),
        {("eu", OLD): 10_000, ("eu", NEW): 1},
    ),
    "a dead address alone leads nobody": (
        {"eu": 1},
        {"eu": 1},
        ([entry("eu", "192.0.2.1", dead=["192.0.2.1"])], [entry("eu", "192.0.2.3")]),
        {("eu", NEW): 1},
    ),
    "weights of 0 alone lead nobody to what was never rolled out": ({"eu": 0}, {"eu": 0}, BOTH, {}),
}


@pytest.mark.parametrize(("old", "new", "entries", "expected"), WEIGHTS.values(), ids=WEIGHTS)
def test_who_gets_how_much(old, new, entries, expected):
    assert led(mix([share(OLD, old, *entries[0]), share(NEW, new, *entries[1])], NAME, None)) == expected


def test_who_should_have_clients_and_does_not_serve_is_told_with_the_reason():
    mixed = mix(
        [share(OLD, {"eu": 1}, *BOTH[0]), share(NEW, {"eu": 1}, entry("eu", "192.0.2.3", 0, **OUT))], NAME, None
    )
    assert entries_of(mixed)["eu", NEW] == {
        "name": "eu",
        "release": NEW,
        "addresses": ["192.0.2.3"],
        "backends": 0,
        "serving": False,
        "why": "none of its endpoints is ready",
        "asked": 1,
    }
    assert mixed["serving"] == 1


DEAD = entry("eu", "192.0.2.3", 0, **OUT)

FALLBACKS = {
    "to the release that was rolled out": (
        [share(OLD, {"eu": 0}, *BOTH[0], complete=True), share(NEW, {"eu": 100}, DEAD)],
        {("eu", OLD): 3, ("us", OLD): 1},
    ),
    "to the newest of those": (
        [
            share("web-0-0", {"eu": 0}, entry("eu", "192.0.2.9"), complete=True),
            share(OLD, {"eu": 0}, entry("eu", "192.0.2.1"), complete=True),
            share(NEW, {"eu": 100}, DEAD),
        ],
        {("eu", OLD): 1},
    ),
    "to one that was not, rather than to nobody": (
        [share(OLD, {"eu": 0}, *BOTH[0]), share(NEW, {"eu": 100}, DEAD)],
        {("eu", OLD): 3, ("us", OLD): 1},
    ),
    "although no weight is left at all": ([share(OLD, {}, entry("eu", "192.0.2.1"), complete=True)], {("eu", OLD): 1}),
    "to nobody where nobody serves": ([share(OLD, {"eu": 0}, DEAD, complete=True), share(NEW, {"eu": 1}, DEAD)], {}),
}


DOUBTFUL = {"doubtful": True, "why": "nothing else is left, although a majority of checkers calls it dead"}

DOUBTS = {
    "it gets nobody while another serves": (
        [share(OLD, {"eu": 90}, *BOTH[0]), share(NEW, {"eu": 10}, entry("eu", "192.0.2.3", **DOUBTFUL))],
        {("eu", OLD): 1},
    ),
    "a complete release stands in for it": (
        [share(OLD, {}, BOTH[0][0], complete=True), share(NEW, {"eu": 100}, entry("eu", "192.0.2.3", **DOUBTFUL))],
        {("eu", OLD): 1},
    ),
    "one that is only tried out does not": (
        [share(OLD, {"eu": 100}, entry("eu", "192.0.2.1", **DOUBTFUL), complete=True), share(NEW, {}, *BOTH[1])],
        {("eu", OLD): 1},
    ),
    "nobody is left to stand in": (
        [
            share(OLD, {"eu": 50}, entry("eu", "192.0.2.1", **DOUBTFUL)),
            share(NEW, {"eu": 50}, entry("eu", "192.0.2.3", **DOUBTFUL)),
        ],
        {("eu", OLD): 1, ("eu", NEW): 1},
    ),
}


@pytest.mark.parametrize(("shares", "expected"), DOUBTS.values(), ids=DOUBTS)
def test_of_a_release_nobody_knows_whether_it_can_be_reached_and(shares, expected):
    assert led(mix(shares, NAME, None)) == expected


@pytest.mark.parametrize(("shares", "expected"), FALLBACKS.values(), ids=FALLBACKS)
def test_where_nobody_serves_who_should_clients_are_led(shares, expected):
    mixed = mix(shares, NAME, None)
    assert led(mixed) == expected
    for place in expected:
        assert entries_of(mixed)[place]["why"].endswith("although its weight is 0")


def test_a_release_of_which_no_address_is_known_is_led_to_as_before():
    before = mix([share(OLD, {"eu": 90}, *BOTH[0]), share(NEW, {"eu": 10}, *BOTH[1])], NAME, None)
    after = mix([Share(OLD, {"eu": 50}), share(NEW, {"eu": 50}, *BOTH[1])], NAME, before)
    assert entries_of(after)["eu", OLD]["addresses"] == ["192.0.2.1"]
    assert led(after) == {("eu", OLD): 1, ("eu", NEW): 1}


def test_where_nothing_is_known_everything_stays():
    before = mix([share(OLD, {"eu": 1}, *BOTH[0])], NAME, None)
    assert mix([Share(OLD, {"eu": 1})], NAME, before) == before
    assert mix([Share(OLD, {"eu": 1})], NAME, None) is None


def test_nobody_is_led_to_a_release_that_is_being_deleted_from_where_another_serves():
    staying = share(OLD, {"eu": 1, "us": 0}, *BOTH[0], complete=True)
    leaving = replace(share(NEW, {"eu": 99, "us": 100}, *BOTH[1]), leaves=True)
    assert led(mix([staying, leaving], NAME, None)) == {("eu", OLD): 9, ("us", NEW): 1}


def test_a_release_that_is_known_to_have_nothing_left_is_led_to_no_longer():
    before = mix([share(OLD, {"eu": 1}, *BOTH[0])], NAME, None)
    after = mix([Share(OLD, {"eu": 1}, {})], NAME, before)
    assert (after["clusters"], after["serving"]) == ([], 0)


def test_the_same_again_changes_nothing():
    shares = [share(OLD, {"eu": 90, "us": 70}, *BOTH[0]), share(NEW, {"eu": 10, "us": 30}, *BOTH[1])]
    mixed = mix(shares, NAME, None)
    assert mix(shares, NAME, mixed) == mixed


def test_the_name_is_that_of_the_shared_service_and_ttl_the_longest():
    front = Name(Key("shop", "web"), ("192.0.2.99",))
    mixed = mix([share(OLD, {"eu": 1}, *BOTH[0], ttl=300), share(NEW, {"eu": 1}, *BOTH[1], ttl=20)], front, None)
    assert mixed["hostname"] == "web.shop.fed.example.com"
    assert (mixed["ttlSeconds"], mixed["front"], mixed["published"]) == (300, ["192.0.2.99"], True)


PORTS = {
    "those that both have": ({"eu": 1}, {"eu": 1}, [HTTP]),
    "those of the only one that has clients": ({"eu": 0}, {"eu": 1}, [HTTP, ADMIN]),
    "those of the newest while nobody has any": ({"eu": 0}, {"eu": 0}, [HTTP, ADMIN]),
}


@pytest.mark.parametrize(("old", "new", "expected"), PORTS.values(), ids=PORTS)
def test_ports(old, new, expected):
    shares = [share(OLD, old, *BOTH[0]), share(NEW, new, *BOTH[1], ports=(HTTP, ADMIN))]
    assert mix(shares, NAME, None)["ports"] == expected


def test_nothing_is_written_that_the_kind_does_not_know():
    mixed = mix([share(OLD, {"eu": 2}, *BOTH[0]), share(NEW, {"eu": 1}, *BOTH[1])], NAME, None)
    known = dig(
        SERVICE_ADDRESSES_CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "properties", "spec", "properties"
    )
    assert mixed.keys() <= known.keys()
    for each in mixed["clusters"]:
        assert each.keys() <= known["clusters"]["items"]["properties"].keys()
