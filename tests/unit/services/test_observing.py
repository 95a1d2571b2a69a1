import pytest

from hanse.kube.manifest import Key
from hanse.propagation.planning import UNSEEN, Observation
from hanse.services.observing import Sighting, is_absent, sighting_of, usable, wish_of
from hanse.services.presence import Port


def plain(annotations=None, **spec):
    metadata = {"name": "web", "namespace": "shop", "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


PUBLISHED = {
    "a load balancer": ({"type": "LoadBalancer"}, True),
    "external addresses": ({"type": "ClusterIP", "externalIPs": ["192.0.2.1"]}, True),
    "node ports with external addresses": ({"type": "NodePort", "externalIPs": ["192.0.2.1"]}, True),
    "node ports": ({"type": "NodePort"}, False),
    "inside only": ({"type": "ClusterIP"}, False),
    "nothing said": ({}, False),
    "headless": ({"type": "ClusterIP", "clusterIP": "None"}, False),
    "a name elsewhere": ({"type": "ExternalName", "externalName": "x.example.com", "externalIPs": ["1.1.1.1"]}, False),
}


@pytest.mark.parametrize(("spec", "published"), PUBLISHED.values(), ids=PUBLISHED)
def test_which_services_have_names(spec, published):
    why = wish_of(plain(**spec)).unpublished
    assert (why == "") is published


def test_a_headless_service_is_called_so():
    assert wish_of(plain(clusterIP="None")).unpublished.startswith("it is headless")


def test_the_template_of_a_federated_service_says_what_a_service_says():
    spec = {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 53, "protocol": "UDP", "name": "d"}]}
    metadata = {"name": "web", "namespace": "shop"}
    wish = wish_of({"kind": "FederatedService", "metadata": metadata, "spec": {"template": {"spec": spec}}})
    assert (wish.key, wish.ports, wish.unpublished) == (Key("shop", "web"), (Port("d", "UDP", 53),), "")


def test_a_service_that_selects_nothing_has_endpoints_of_which_nobody_tells():
    assert wish_of(plain(selector={"app": "web"})).selects
    assert not wish_of(plain()).selects


@pytest.mark.parametrize(
    ("text", "expected"), [("60", 60), ("0", 0), ("-1", None), ("1m", None), ("", None), (str(2**31), None)]
)
def test_how_long_answers_are_kept(text, expected):
    wish = wish_of(plain({"hanse.dev/dns-ttl": text}))
    assert wish.ttl == expected
    assert ("hanse.dev/dns-ttl" in wish.problem) is (expected is None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("107.194.17.44", ("107.194.17.44",)),
        ("2001:db8::1, 107.194.17.44", ("107.194.17.44", "2001:db8::1")),
        ("", ()),
        ("lb.example.com", None),
        ("107.194.17.44,nowhere", None),
    ],
)
def test_the_addresses_of_a_balancer_in_front_of_all_clusters(text, expected):
    wish = wish_of(plain({"hanse.dev/global-address": text}))
    assert wish.front == (expected or ())
    assert ("hanse.dev/global-address" in wish.problem) is (expected is None)


def test_the_addresses_of_a_copy():
    copy = plain(clusterIP="10.0.0.1", clusterIPs=["10.0.0.1", "fd00::1"], externalIPs=["192.0.2.9"])
    copy["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "hostname": "ignored"}, {"hostname": "lb.x"}]}}
    seen = sighting_of(copy)
    assert seen == Sighting((("ip", "192.0.2.1"), ("hostname", "lb.x")), ("192.0.2.9",), ("10.0.0.1", "fd00::1"))
    assert (seen.ips, seen.hostnames) == (("192.0.2.1", "192.0.2.9"), ("lb.x",))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["192.0.2.1", "2001:DB8::1"], ("192.0.2.1", "2001:db8::1")),
        (["nonsense", "", "1.2.3", "fe80::1%eth0", "0.0.0.0", "::"], ()),
    ],
)
def test_only_addresses_that_clients_elsewhere_can_use_count(texts, expected):
    assert usable(texts) == expected


def test_a_headless_copy_has_no_address():
    assert sighting_of(plain(clusterIP="None", clusterIPs=["None"])) == Sighting()


ABSENT = {
    "seen, and none there": (Observation(seen=True), True),
    "the kind is not served": (Observation(seen=False, unserved=True), True),
    "not seen": (UNSEEN, False),
    "there": (Observation(seen=True, copy=plain()), False),
    "there when last seen": (Observation(seen=False, copy=plain()), False),
}


@pytest.mark.parametrize(("observation", "expected"), ABSENT.values(), ids=ABSENT)
def test_not_to_have_been_seen_is_not_to_be_absent(observation, expected):
    assert is_absent(observation) is expected
