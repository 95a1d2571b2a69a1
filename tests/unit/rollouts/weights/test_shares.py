"""What each release has to give to the mixture, as the host stores it."""

from typing import Any

import pytest

from hanse.api.pieces import piece_spec
from hanse.kube.manifest import Key
from hanse.kube.resources import CONFIGMAPS, SERVICES
from hanse.rollouts.weights.shares import Name, Share, names_of, other_way, parts_of, share_of

SHARED, OWN = {"shipper-lb": "production"}, {"hanse.dev/traffic": "release"}


def release(name="web-1-0", way="Weights", *, deleting=False, complete=False):
    metadata = {"name": name, "namespace": "shop"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    conditions = [{"type": "Complete", "status": "True"}] if complete else []
    strategy = {"trafficBy": way} if way else {}
    return {"metadata": metadata, "spec": {"environment": {"strategy": strategy}}, "status": {"conditions": conditions}}


def piece(name, labels, kind=SERVICES, **annotations):
    template = {"kind": kind.kind, "metadata": {"name": name, "labels": labels, "annotations": annotations}}
    return {"metadata": {"name": f"p-{name}", "namespace": "shop"}, "spec": piece_spec(kind, template)}


def traffic(**weights):
    return {"spec": {"clusters": [{"name": name, "weight": weight} for name, weight in weights.items()]}}


PIECES = [piece("settings", {}, CONFIGMAPS), piece("web", SHARED), piece("web-1-0-web", OWN), piece("admin", {})]
ADDRESSES = {"ttlSeconds": 60, "clusters": []}


def unfound(_key):
    return None


def stored(key):
    return {"spec": ADDRESSES} if key == Key("shop", "web-1-0-web") else None


def test_a_release_gives_the_addresses_of_its_own_service_and_its_weights():
    parts = parts_of(release(complete=True), traffic(eu=90, us=0), PIECES)
    assert share_of(parts, stored) == Share("web-1-0", {"eu": 90, "us": 0}, ADDRESSES, complete=True)


UNKNOWN: dict[str, tuple[Any, ...]] = {
    "nobody has found its addresses": (release(), PIECES, unfound, None),
    "it has no Service of its own yet": (release(), [], stored, None),
    "it is being deleted, and has none any more": (release(deleting=True), PIECES, unfound, {}),
}


@pytest.mark.parametrize(("found", "pieces", "addresses", "expected"), UNKNOWN.values(), ids=UNKNOWN)
def test_its_addresses_are_not_known_when(found, pieces, addresses, expected):
    assert share_of(parts_of(found, None, pieces), addresses).addresses == expected


def test_what_the_newest_release_says_of_a_name_counts():
    old = parts_of(release(), None, [piece("web", SHARED, **{"hanse.dev/balancer": "tcp"})])
    said = {"hanse.dev/balancer": "http", "hanse.dev/global-address": "192.0.2.9, 192.0.2.8"}
    new = parts_of(release("web-2-0"), None, [piece("web", SHARED, **said)])
    assert names_of([old, new]) == [Name(Key("shop", "web"), ("192.0.2.8", "192.0.2.9"), "http")]


def test_every_name_counts_while_a_release_has_it_and_a_front_that_is_no_address_does_not():
    old = parts_of(release(), None, [piece("web", SHARED)])
    new = parts_of(release("web-2-0"), None, [piece("shop", SHARED, **{"hanse.dev/global-address": "lb.example.com"})])
    assert names_of([old, new]) == [Name(Key("shop", "shop")), Name(Key("shop", "web"))]


@pytest.mark.parametrize(
    ("way", "others", "expected"),
    [
        ("Weights", [], ""),
        ("Weights", [release()], ""),
        ("", [release(way="Pods")], ""),
        ("Weights", [release(way="", deleting=True)], ""),
        ("Weights", [release("web-2-0"), release("web-3-0", "")], ""),
        ("Weights", [release(way="")], "strategy.trafficBy is Weights, and Pods in release web-1-0"),
        ("Pods", [release()], "strategy.trafficBy is Pods, and Weights in release web-1-0"),
    ],
)
def test_all_releases_of_an_application_are_led_to_in_one_way(way, others, expected):
    assert other_way(release("web-2-0", way), others).startswith(expected)
    assert bool(other_way(release("web-2-0", way), others)) is bool(expected)
