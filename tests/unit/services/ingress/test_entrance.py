"""An entrance of Hanse's own balancers: what is kept of it, and what balancers make of it."""

import pytest

from hanse.api.clusters import Cluster
from hanse.kube.manifest import Key
from hanse.services.balancing.lines import draw_lines
from hanse.services.balancing.wishes import Mode
from hanse.services.ingress.entrance import (
    Behind,
    Entrance,
    Reach,
    askings_of,
    entrance_for,
    entrance_manifest,
    parse_entrance,
    told_status,
)
from hanse.services.ingress.following import behind_now
from hanse.services.ingress.manifest import Backend, Rule

WEB, API = Backend("web", "80"), Backend("api", "http")
RULES = (Rule("shop.example.com", "/api", API), Rule("Shop.example.com", "/", WEB), Rule("*.example.com", "", API))


def entrance(*clusters, rules=RULES, default=WEB):
    given = clusters or (Behind("east", ("192.0.2.1",)), Behind("west", ("192.0.2.2",)))
    return Entrance(Key("shop", "front"), "web", given, rules, default, Reach("198.51.100.7", 8080, 8000))


def weights(made, host=""):
    lines = {line.hosts: line for line in draw_lines(askings_of(made)).lines}
    return {target.cluster: target.weight for target in lines[(host,) if host else ()].targets}


def test_what_is_kept_of_an_entrance_is_what_is_read():
    assert parse_entrance(entrance_manifest(entrance())) == entrance()


def test_an_entrance_is_made_from_an_ingress_and_the_addresses_that_clusters_gave_it():
    path = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
    ingress = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"rules": [{"host": "shop.example.com", "http": {"paths": [path]}}]},
    }

    made = entrance_for("front", ingress, {"west": ["192.0.2.2"], "east": ["192.0.2.1"]}, Reach())

    assert made.key == Key("shop", "front")
    assert [each.cluster for each in made.clusters] == ["east", "west"]
    assert (made.rules, made.default) == ((Rule("shop.example.com", "/", WEB),), None)
    assert made.standing.sentence == (
        "Load balancer front has IPAddress (not told) and is spread across 2 clusters (east,west)"
    )


def test_what_was_told_of_a_cluster_last_counts_and_others_stay_as_they_were_written():
    kept = entrance_manifest(entrance())
    told = told_status([Behind("west", ("192.0.2.9",), ("api",), ""), Behind("gone", ("192.0.2.4",))])

    read = parse_entrance({**kept, "status": told})

    assert read.clusters == (Behind("east", ("192.0.2.1",)), Behind("west", ("192.0.2.9",), ("api",)))


def test_each_host_has_a_line_and_one_is_for_all_others():
    drawn = draw_lines(askings_of(entrance()))

    assert drawn.troubles == ()
    assert [(line.hosts, line.listen, line.mode) for line in drawn.lines] == [
        (("shop.example.com",), 8080, Mode.HTTP),
        ((), 8080, Mode.HTTP),
    ]
    assert {target.port for line in drawn.lines for target in line.targets} == {8000}


def test_an_entrance_without_a_default_takes_no_requests_for_hosts_that_it_does_not_name():
    lines = draw_lines(askings_of(entrance(rules=RULES[:1], default=None))).lines

    assert [line.hosts for line in lines] == [("shop.example.com",)]


@pytest.mark.parametrize(
    ("east", "west", "host", "expected"),
    [
        ({}, {}, "shop.example.com", {"east": 256, "west": 256}),
        ({"missing": ("api",)}, {}, "shop.example.com", {"east": 0, "west": 256}),
        ({"missing": ("other",)}, {}, "shop.example.com", {"east": 256, "west": 256}),
        ({"why": "the cluster is offline"}, {}, "", {"east": 0, "west": 256}),
        ({"missing": ("api",)}, {"missing": ("web",)}, "shop.example.com", {"east": 256, "west": 256}),
        ({"missing": ("web",)}, {"why": "the cluster is offline"}, "", {"east": 256, "west": 0}),
        ({"why": "offline"}, {"why": "offline"}, "", {"east": 256, "west": 256}),
    ],
    ids=[
        "all well",
        "one lacks a service",
        "of another host",
        "one offline",
        "each lacks one",
        "the rest",
        "nobody left",
    ],
)
def test_requests_go_where_all_services_of_their_host_are_and_never_nowhere(east, west, host, expected):
    made = entrance(Behind("east", ("192.0.2.1",), **east), Behind("west", ("192.0.2.2",), **west))

    assert weights(made, host) == expected


def test_a_host_name_in_place_of_an_address_is_left_to_dns():
    made = entrance(Behind("east", ("lb.example.com", "2001:db8::1")))

    assert [target.address for line in draw_lines(askings_of(made)).lines for target in line.targets] == [
        "2001:db8::1"
    ] * 2


def test_a_cluster_is_told_with_the_addresses_it_had_while_its_ingress_has_none():
    known, copy = Behind("east", ("192.0.2.1",)), {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.8"}]}}}
    well, lost = Cluster("east", ready=True), Cluster("east", offline=True, why="no answer")

    assert behind_now(well, known, copy, ("web",)) == Behind("east", ("192.0.2.8",), ("web",))
    assert behind_now(lost, known, None, ()) == Behind("east", ("192.0.2.1",), (), "the cluster is offline")
