"""Every form in which a Secret may hold credentials is read, and what is missing is named."""

import base64

import pytest
import yaml

from hanse.api.clusters import Address, Cluster
from hanse.clusters.credentials import endpoints_of
from hanse.clusters.kubeconfigs import merged, minified, without_secrets
from hanse.kube.kubeconfig import Endpoint, KubeconfigError


def b64(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def secret(**data):
    named = {key.replace("_", "."): b64(value) for key, value in data.items()}
    return {"metadata": {"name": "s", "namespace": "ns"}, "data": named}


EAST = Cluster("east", server="https://east", addresses=(Address("https://east"),))


def test_the_cluster_says_where_and_the_secret_says_who():
    cluster = Cluster("east", addresses=(Address("https://one"), Address("https://two")))
    stored = secret(kubeconfig=minified("east", Endpoint("https://elsewhere", token="t0ken")))

    found = endpoints_of(cluster, stored)

    assert [(each.server, each.token) for each in found] == [("https://one", "t0ken"), ("https://two", "t0ken")]


def test_a_cluster_without_an_address_is_where_its_kubeconfig_says():
    stored = secret(kubeconfig=minified("east", Endpoint("https://elsewhere", token="t0ken")))

    assert [each.server for each in endpoints_of(Cluster("east"), stored)] == ["https://elsewhere"]


def test_a_token_with_an_authority_is_enough():
    (found,) = endpoints_of(EAST, secret(token="t0ken\n", ca_crt=b"authority"))

    assert (found.server, found.token, found.ca) == ("https://east", "t0ken", b"authority")


def test_the_clusters_own_authority_serves_where_the_secret_has_none():
    cluster = Cluster("east", server="https://east", addresses=EAST.addresses, ca_bundle=b64("authority"))

    assert endpoints_of(cluster, secret(token="t0ken"))[0].ca == b"authority"


def test_a_client_certificate_is_read_and_may_be_told_not_to_verify():
    stored = secret(tls_crt=b"certificate", tls_key=b"key")
    stored["metadata"]["annotations"] = {"shipper.booking.com/cluster-secret.insecure-tls-skip-verify": "true"}

    (found,) = endpoints_of(EAST, stored)

    assert (found.client_certificate, found.client_key, found.insecure) == (b"certificate", b"key", True)


def test_another_key_and_context_of_a_kubeconfig_are_honoured():
    document = yaml.safe_load(minified("a", Endpoint("https://a", token="ta")))
    other = yaml.safe_load(minified("b", Endpoint("https://b", token="tb")))
    both, _ = merged(document, other)
    cluster = Cluster("east", credentials_key="config", credentials_context="b")

    assert endpoints_of(cluster, secret(config=yaml.safe_dump(both)))[0].token == "tb"


@pytest.mark.parametrize(
    ("cluster", "stored", "sentence"),
    [
        (EAST, secret(token="t"), "has a token and no 'ca.crt', and the Cluster no caBundle"),
        (EAST, secret(), "has no key 'kubeconfig', nor 'token' with 'ca.crt', nor 'tls.crt' with 'tls.key'"),
        (EAST, secret(tls_crt=b"x"), "has no key 'kubeconfig'"),
        (EAST, {"metadata": {"name": "s"}, "data": {"kubeconfig": "%"}}, "is not base64 of text"),
        (Cluster("east"), secret(token="t", ca_crt=b"x"), "serverEndpoints names no serverAddress; add one"),
    ],
    ids=["no authority", "empty", "half a pair", "not base64", "no address"],
)
def test_credentials_that_cannot_be_used_say_what_is_missing(cluster, stored, sentence):
    with pytest.raises(KubeconfigError) as fault:
        endpoints_of(cluster, stored)

    assert sentence in str(fault.value)


def test_no_address_for_this_client_is_said():
    cluster = Cluster("east", addresses=(Address("https://one", "10.0.0.0/8"),))

    with pytest.raises(KubeconfigError, match=r"is meant for 192\.168\.0\.1; add one whose clientCIDR holds it"):
        endpoints_of(cluster, secret(kubeconfig=minified("e", Endpoint("https://e", token="t"))), "192.168.0.1")


def test_a_kubeconfig_that_is_shown_has_no_secret_in_it():
    document = yaml.safe_load(minified("east", Endpoint("https://east", token="t0ken", username="u", password="p4ss")))

    shown = yaml.safe_dump(without_secrets(document))

    assert "t0ken" not in shown
    assert "p4ss" not in shown
    assert "https://east" in shown


def test_merging_keeps_what_was_there_and_names_what_it_would_replace():
    before = yaml.safe_load(minified("mine", Endpoint("https://mine", token="m")))
    again, unchanged = merged(before, before)
    changed = yaml.safe_load(minified("mine", Endpoint("https://other", token="m")))
    result, clashes = merged(before, changed)

    assert (again, unchanged) == (before, [])
    assert (clashes, result["current-context"]) == (["clusters[mine]"], "mine")
