"""Hashes and versions as KubeFed wrote them; numbers are lines of its checklist."""

import pytest

from hanse.api.kubefed.forms import FORM_D
from hanse.federated.versions import (
    cluster_version,
    federated_service_status,
    overrides_version,
    propagated_version,
    template_version,
)
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, Resource
from tests.unit.federated.cases import UID, federated, override

NGINX = {
    "metadata": {"labels": {"app": "nginx"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "nginx"}},
        "template": {
            "metadata": {"labels": {"app": "nginx"}},
            "spec": {"containers": [{"image": "nginx", "name": "nginx"}]},
        },
    },
}


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        ({"template": {"spec": {"foo": None}}}, "a5b8d4352d5aed51c51b93900258ccf3"),
        pytest.param({"template": NGINX}, "89c47153334eac9c96019d1b0b0c61c7", id="11"),
        ({}, ""),
    ],
)
def test_the_hash_of_a_template_is_the_one_that_kubefed_wrote(spec, version):
    assert template_version({"spec": spec}) == version


@pytest.mark.parametrize(
    ("source", "version"),
    [
        pytest.param(
            {"spec": {"overrides": [override("cluster2", {"path": "spec.replicas", "value": 5})]}},
            "c0e28d4d62db92943521f09db7a27448",
            id="11 dots",
        ),
        pytest.param(
            {"spec": {"overrides": [override("cluster2", {"path": "/spec/replicas", "value": 5})]}},
            "ca0c896a2cb350cc5b6b6d2b073d9819",
            id="11 a pointer",
        ),
        ({"spec": {}}, "2979b7538b527abe06492021841caf47"),
        ({}, ""),
    ],
)
def test_the_hash_of_overrides_is_the_one_that_kubefed_wrote(source, version):
    assert overrides_version(source) == version


def test_hashes_see_what_json_sees():
    one = {"spec": {"template": {"a": 1, "b": "<&>"}}}
    other = {"spec": {"template": {"b": "<&>", "a": 1.0}}}
    assert template_version(one) == template_version(other)
    assert template_version(one) != template_version({"spec": {"template": {"a": 1, "b": "<&"}}})
    removal, bare = {"op": "remove", "path": "/a"}, {"path": "/a"}
    assert overrides_version({"spec": {"overrides": [override("c", removal)]}}) != overrides_version(
        {"spec": {"overrides": [override("c", bare)]}}
    )


@pytest.mark.parametrize(
    ("metadata", "version"), [({"generation": 4, "resourceVersion": "9"}, "gen:4"), ({"resourceVersion": "9"}, "rv:9")]
)
def test_a_copys_version_is_its_generation_or_else_its_resource_version(metadata, version):
    """Line 60."""
    assert cluster_version({"metadata": metadata}) == version


def test_what_was_propagated_is_written_down_beside_the_object_and_goes_with_it():
    """Lines 60 and 62."""
    copies = [("b", {"metadata": {"generation": 2}}), ("a", {"metadata": {"generation": 1}})]
    resource, made = propagated_version(federated(), FORM_D, DEPLOYMENTS, copies)
    assert resource.kind == made["kind"] == "PropagatedVersion"
    assert made["metadata"]["name"] == "deployment-web"
    assert made["metadata"]["namespace"] == "shop"
    assert made["metadata"]["ownerReferences"][0]["uid"] == UID
    assert made["status"]["clusterVersions"] == [
        {"clusterName": "a", "version": "gen:1"},
        {"clusterName": "b", "version": "gen:2"},
    ]


def test_a_cluster_scoped_object_has_a_cluster_scoped_version():
    roles = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
    resource, made = propagated_version(federated("ClusterRole", namespace=None), FORM_D, roles, [])
    assert (resource.kind, made["metadata"]["name"]) == ("ClusterPropagatedVersion", "clusterrole-web")
    assert "namespace" not in made["metadata"]


def test_the_status_of_a_federated_service_names_every_ready_cluster():
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    _, made = federated_service_status(federated("Service"), FORM_D, [("b", None), ("a", {"status": status})])
    assert made["metadata"]["name"] == "web"
    assert made["clusterStatus"] == [{"clusterName": "a", "status": status}, {"clusterName": "b", "status": {}}]
    assert propagated_version(federated("ConfigMap"), FORM_D, CONFIGMAPS, [])[1]["status"]["clusterVersions"] == []
