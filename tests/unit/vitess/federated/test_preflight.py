"""What is checked before a Vitess spans clusters: networks that overlap, routes that are missing, names that fail."""

from __future__ import annotations

from hanse.vitess.federated.preflight import (
    NetworkFacts,
    facts_of,
    federated_address,
    is_ready,
    lockserver_addresses,
    preflight,
)
from tests.unit.vitess.federated.shop import shop

_DOMAIN = ("vt.example",)
_EAST = NetworkFacts(("10.1.0.0/16",), ("west",), _DOMAIN)
_WEST = NetworkFacts(("10.2.0.0/16", "fd00:2::/48"), ("*",), _DOMAIN)


def _sentences(east: NetworkFacts = _EAST, west: NetworkFacts = _WEST) -> list[str]:
    return [str(each) for each in preflight(shop()["spec"], {"east": east, "west": west})]


def test_clusters_of_which_all_is_known_and_right_pass():
    assert _sentences() == []


def test_pod_networks_that_overlap_are_found():
    overlapping = NetworkFacts(("10.1.128.0/20",), ("*",), _DOMAIN)
    found = preflight(shop()["spec"], {"east": _EAST, "west": overlapping})
    assert "pod networks 10.1.0.0/16 and 10.1.128.0/20 overlap" in str(found[0])
    assert found[0].clusters == ("east", "west")
    assert not is_ready(found)


def test_pods_that_do_not_reach_those_of_another_cluster_are_found():
    assert any(
        "east and west: its pods do not reach" in each for each in _sentences(NetworkFacts(_EAST.networks, (), _DOMAIN))
    )


def test_lockserver_names_that_a_cluster_does_not_resolve_are_found():
    found = _sentences(west=NetworkFacts(_WEST.networks, _WEST.reaches, ("other.example",)))
    assert any("west: its pods do not resolve etcd-global.vt.example" in each for each in found)


def test_what_nobody_said_is_told_and_stops_nothing():
    found = preflight(shop()["spec"], {"east": _EAST, "west": NetworkFacts()})
    assert found
    assert is_ready(found)


def test_what_is_no_network_is_told():
    assert any(
        "'10.1' in hanse.dev/pod-networks is no network" in each
        for each in _sentences(NetworkFacts(("10.1",), ("*",), _DOMAIN))
    )


def test_one_cluster_needs_nothing():
    assert preflight(shop()["spec"], {"east": NetworkFacts()}) == []


def test_facts_are_read_from_annotations():
    said = {"hanse.dev/pod-networks": "10.1.0.0/16, 10.9.0.0/16", "hanse.dev/reaches-pods-of": "*"}
    assert facts_of(said) == NetworkFacts(("10.1.0.0/16", "10.9.0.0/16"), ("*",), None)


def test_every_lockserver_that_all_have_to_find_is_checked():
    assert lockserver_addresses(shop()["spec"]) == (
        "etcd-global.vt.example",
        *(f"etcd-{cell['name']}.vt.example" for cell in shop()["spec"]["cells"]),
    )
    assert preflight({"globalLockserver": {"external": {"address": "10.0.0.9:2379"}}}, {"a": _EAST, "b": _WEST}) != []


def test_a_federated_service_has_one_name_in_all_clusters():
    assert federated_address("etcd", "vt", "fed", "example.com") == "etcd.vt.fed.svc.example.com:2379"
