"""An Ingress of any version, read for a load balancer of many clusters."""

import pytest

from hanse.kube.manifest import annotations_of, namespace_of
from hanse.services.ingress.manifest import (
    CLASS_ANNOTATION,
    STATIC_IP_ANNOTATION,
    Backend,
    IngressError,
    Rule,
    backends_of,
    default_backend,
    in_namespace,
    modern_ingress,
    of_many_clusters,
    rules_of,
    with_static_ip,
)

FORMER = {
    "apiVersion": "extensions/v1beta1",
    "kind": "Ingress",
    "metadata": {"name": "web"},
    "spec": {
        "backend": {"serviceName": "front", "servicePort": 80},
        "rules": [
            {
                "host": "shop.example.com",
                "http": {"paths": [{"path": "/a", "backend": {"serviceName": "a", "servicePort": "http"}}]},
            }
        ],
        "tls": [{"secretName": "key"}],
    },
}


def ingress(namespace="", **annotations):
    metadata = {"name": "web", "annotations": annotations} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": {}}


def test_an_ingress_of_a_former_version_means_the_same_in_the_present_one():
    read = modern_ingress(FORMER)

    assert read["apiVersion"] == "networking.k8s.io/v1"
    assert default_backend(read) == Backend("front", "80")
    assert rules_of(read) == [Rule("shop.example.com", "/a", Backend("a", "http"))]
    assert backends_of(read) == [Backend("front", "80"), Backend("a", "http")]
    assert read["spec"]["tls"] == [{"secretName": "key"}]
    assert read["spec"]["rules"][0]["http"]["paths"][0]["pathType"] == "ImplementationSpecific"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, "one Ingress"),
        ({"kind": "Service"}, "one Ingress"),
        ({"kind": "Ingress", "apiVersion": "networking.k8s.io/v1"}, "needs a name"),
        ({"kind": "Ingress", "apiVersion": "v1", "metadata": {"name": "web"}}, "v1 has no Ingress"),
    ],
)
def test_what_is_no_ingress_is_refused_in_a_sentence(document, words):
    with pytest.raises(IngressError, match=words):
        modern_ingress(document)


@pytest.mark.parametrize(
    ("written", "asked", "namespace"),
    [("", "", "default"), ("", "shop", "shop"), ("shop", "", "shop"), ("a", "a", "a")],
)
def test_the_namespace_is_that_of_the_file_else_of_the_flag_else_the_default(written, asked, namespace):
    assert namespace_of(in_namespace(ingress(written), asked)) == namespace


def test_a_namespace_that_differs_from_that_of_the_file_is_refused():
    with pytest.raises(IngressError, match=r'"shop" does not match the namespace "other".*--namespace=shop'):
        in_namespace(ingress("shop"), "other")


def test_the_class_is_that_of_many_clusters_and_no_other():
    made = of_many_clusters(ingress())

    assert annotations_of(made)[CLASS_ANNOTATION] == "gce-multi-cluster"
    assert of_many_clusters(made) == made
    with pytest.raises(IngressError, match="ingress class is nginx, must be gce-multi-cluster"):
        of_many_clusters(ingress(**{CLASS_ANNOTATION: "nginx"}))
    with pytest.raises(IngressError, match="ingressClassName"):
        of_many_clusters({**ingress(), "spec": {"ingressClassName": "nginx"}})


@pytest.mark.parametrize(("written", "asked"), [("ip", ""), ("", "ip"), ("ip", "ip")])
def test_the_address_is_named_by_the_file_or_by_the_flag(written, asked):
    given = ingress(**{STATIC_IP_ANNOTATION: written}) if written else ingress()

    assert annotations_of(with_static_ip(given, asked))[STATIC_IP_ANNOTATION] == "ip"


def test_an_address_that_is_not_named_or_named_twice_is_refused():
    with pytest.raises(IngressError, match=r"must provide a Global Static IP.*--static-ip flag"):
        with_static_ip(ingress(), "")
    with pytest.raises(IngressError, match=r'"mine" does not match --static-ip=yours'):
        with_static_ip(ingress(**{STATIC_IP_ANNOTATION: "mine"}), "yours")


def test_a_backend_that_names_no_port_is_refused_with_its_field():
    spec = {"defaultBackend": {"service": {"name": "web"}}}

    with pytest.raises(IngressError, match=r"spec\.defaultBackend: it must name a service and its port"):
        default_backend({**ingress(), "spec": spec})
