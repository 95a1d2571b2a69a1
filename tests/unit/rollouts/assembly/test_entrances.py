"""The Services of a release that is led to by weights: one that all releases share, and one of its own."""

import copy
import re

import pytest

from hanse.kube.manifest import name_of
from hanse.rollouts.assembly import assemble
from hanse.rollouts.assembly.entrances import entrance_name
from hanse.rollouts.sources import SourceProblem

LABELS = {"shipper-app": "web", "shipper-release": "web-1a2b-0"}
RELEASE = {
    "apiVersion": "shipper.booking.com/v1alpha1",
    "kind": "Release",
    "metadata": {"name": "web-1a2b-0", "namespace": "shop", "uid": "u", "labels": LABELS},
    "spec": {"environment": {"strategy": {"trafficBy": "Weights"}}},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web-1a2b-0"},
    "spec": {"template": {"spec": {"containers": []}}},
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "web",
        "labels": {"shipper-lb": "production"},
        "annotations": {"hanse.dev/balancer": "http", "hanse.dev/global-address": "192.0.2.9", "lb.cloud/kind": "fast"},
    },
    "spec": {
        "type": "LoadBalancer",
        "selector": {"app": "nginx"},
        "ports": [{"name": "http", "port": 80, "nodePort": 30080}],
        "clusterIP": "10.0.0.7",
        "externalTrafficPolicy": "Local",
        "healthCheckNodePort": 30081,
        "loadBalancerClass": "cloud/fast",
        "sessionAffinity": "ClientIP",
    },
}


def services(*more, release=RELEASE, **spec):
    service = copy.deepcopy(SERVICE)
    service["spec"].update(spec)
    made = assemble([DEPLOYMENT, service, *more], release=release, renames=False)
    return made, {name_of(piece): piece for piece in made.pieces if piece["kind"] == "Service"}


def test_the_shared_service_keeps_its_name_and_pods_and_asks_for_no_address_outside():
    made, found = services()
    assert made.service == found["web"]
    assert found["web"]["metadata"]["labels"]["shipper-lb"] == "production"
    assert found["web"]["spec"] == {
        "type": "ClusterIP",
        "selector": {"app": "nginx", "shipper-app": "web", "shipper-traffic-status": "enabled"},
        "ports": [{"name": "http", "port": 80}],
        "clusterIP": "10.0.0.7",
        "sessionAffinity": "ClientIP",
    }


def test_the_service_of_the_release_has_the_address_and_selects_its_pods_alone():
    _, found = services()
    own = found["web-1a2b-0-web"]
    assert own["spec"] == {
        "type": "LoadBalancer",
        "selector": {"app": "nginx", **LABELS},
        "ports": [{"name": "http", "port": 80}],
        "externalTrafficPolicy": "Local",
        "loadBalancerClass": "cloud/fast",
        "sessionAffinity": "ClientIP",
    }
    labels = own["metadata"]["labels"]
    assert (labels["hanse.dev/traffic"], "shipper-lb" in labels, labels["shipper-release"]) == (
        "release",
        False,
        "web-1a2b-0",
    )
    assert own["metadata"]["namespace"] == "shop"


def test_what_is_asked_for_the_name_is_asked_by_the_shared_service_alone():
    _, found = services()
    assert found["web-1a2b-0-web"]["metadata"]["annotations"] == {"lb.cloud/kind": "fast"}
    assert found["web"]["metadata"]["annotations"] == SERVICE["metadata"]["annotations"]


@pytest.mark.parametrize("strategy", [{}, {"trafficBy": "Pods"}])
def test_a_release_that_is_led_to_by_labels_has_one_service_as_it_was_written(strategy):
    release = {**RELEASE, "spec": {"environment": {"strategy": strategy}}}
    _, found = services(release=release)
    assert list(found) == ["web"]
    assert found["web"]["spec"]["type"] == "LoadBalancer"


REFUSED = {
    "without an address outside": ({"type": "ClusterIP"}, 'Service "web": spec.type is ClusterIP'),
    "without a type": ({"type": None}, 'Service "web": spec.type is ClusterIP'),
    "with addresses that releases would share": (
        {"externalIPs": ["192.0.2.1"]},
        'Service "web": spec.externalIPs would be the address of every release',
    ),
    "with a fixed address": ({"loadBalancerIP": "192.0.2.1"}, 'Service "web": spec.loadBalancerIP would be'),
}


@pytest.mark.parametrize(("spec", "sentence"), REFUSED.values(), ids=REFUSED)
def test_a_service_is_refused(spec, sentence):
    with pytest.raises(SourceProblem, match=sentence) as caught:
        services(**spec)
    assert caught.value.reason == "ChartError"


def test_a_service_of_the_same_name_is_refused():
    twin = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web-1a2b-0-web"}, "spec": {}}
    with pytest.raises(SourceProblem, match='Service "web-1a2b-0-web" has the name'):
        services(twin)


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("web-1a2b-0", "web-1a2b-0-web"),
        ("my.app-1a2b-0", "my-app-1a2b-0-web-"),
        ("2048-1a2b-0", "r-2048-1a2b-0-web-"),
        ("a" * 80, "a" * 52 + "-"),
    ],
)
def test_its_name_is_a_label_of_dns(release, expected):
    name = entrance_name({"metadata": {"name": release}}, SERVICE)
    assert len(name) <= 63
    assert re.fullmatch(r"[a-z][-a-z0-9]*[a-z0-9]", name)
    assert name.startswith(expected)
    assert name == entrance_name({"metadata": {"name": release}}, SERVICE)


def test_long_names_are_told_apart():
    names = {entrance_name({"metadata": {"name": f"{'a' * 80}-{number}"}}, SERVICE) for number in range(3)}
    assert len(names) == 3
