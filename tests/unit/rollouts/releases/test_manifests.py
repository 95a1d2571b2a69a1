"""Pieces and targets as they are stored."""

from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, SERVICES, Resource
from hanse.rollouts.assembly import Assembled
from hanse.rollouts.releases.manifests import belongs, pieces, replicas_of

RELEASE = {
    "apiVersion": "shipper.booking.com/v1alpha1",
    "kind": "Release",
    "metadata": {"name": "app-abc-0", "namespace": "ns", "uid": "u1", "labels": {"shipper-app": "app"}},
    "spec": {"environment": {}},
}
ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
OTHER = Resource("other.example", "v1", "services", "Service")


def manifest(kind, name, **metadata):
    return {"kind": kind, "metadata": {"name": name, **metadata}}


DEPLOYMENT, SERVICE = manifest("Deployment", "app-abc-0-web"), manifest("Service", "web")


def made(*more):
    objects = [DEPLOYMENT, SERVICE, *(obj for obj, _ in more)]
    assembled = Assembled(tuple(objects), DEPLOYMENT, 3, SERVICE, "digest")
    return pieces(RELEASE, assembled, [DEPLOYMENTS, SERVICES, *(resource for _, resource in more)])


def names(found):
    return [piece["metadata"]["name"] for piece in found]


def test_the_deployments_piece_is_named_like_the_release_and_others_by_kind_and_name():
    found = made((manifest("ConfigMap", "settings"), CONFIGMAPS))

    assert names(found) == ["app-abc-0", "app-abc-0-service-web", "app-abc-0-configmap-settings"]
    assert found[0]["metadata"]["finalizers"] == ["hanse.dev/propagation"]
    assert found[0]["metadata"]["labels"] == {"shipper-app": "app", "shipper-owned-by": "app-abc-0"}


def test_names_that_are_too_long_or_not_legal_or_taken_are_told_apart_by_a_digest():
    long, longer = (manifest("ConfigMap", "x" * length) for length in (250, 251))
    found = names(made((long, CONFIGMAPS), (longer, CONFIGMAPS), (manifest("ClusterRole", "System:It"), ROLES)))[2:]
    twin = names(made((manifest("Service", "web"), OTHER)))

    assert len(set(found)) == 3
    assert all(len(name) <= 253 and name.islower() and ":" not in name for name in found)
    assert twin[1] != twin[2]
    assert twin[2].startswith("app-abc-0-service-web-")


def test_a_manifest_has_a_namespace_exactly_where_its_kind_has_one():
    found = made((manifest("ConfigMap", "a"), CONFIGMAPS), (manifest("ClusterRole", "b", namespace="ns"), ROLES))
    places = [piece["spec"]["template"]["metadata"].get("namespace") for piece in found[2:]]

    assert places == ["ns", None]
    assert [piece["spec"]["resource"]["namespaced"] for piece in found[2:]] == [True, False]


def test_what_a_hundred_percent_are_is_noted_or_else_what_the_capacity_target_has():
    noted = {"metadata": {"annotations": {"hanse.dev/replicas": "0"}}}
    bare = {"metadata": {}}
    held = {"spec": {"clusters": [{"name": "a", "totalReplicaCount": 4}]}}

    assert [replicas_of(noted, held), replicas_of(bare, held), replicas_of(bare, None)] == [0, 4, None]


def test_an_object_of_an_earlier_release_of_the_same_name_is_another_ones():
    def owned(uid):
        return {"metadata": {"ownerReferences": [{"name": "app-abc-0", "uid": uid}]}}

    assert [belongs(owned(uid), RELEASE) for uid in ("u1", "u0")] == [True, False]
    assert not belongs({"metadata": {}}, RELEASE)
