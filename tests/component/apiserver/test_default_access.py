"""The roles and bindings that a server makes at its first start, and what they let controllers do."""

from __future__ import annotations

import pytest

from hanse.apiserver import ApiServer, Identity
from hanse.apiserver.default_access import default_access
from hanse.apiserver.identity import service_account_groups
from hanse.kube.manifest import Obj
from tests.component.apiserver.conftest import Api

RBAC = "/apis/rbac.authorization.k8s.io/v1"
PLURALS = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}
# One of each shape: resources, names of resources, plain paths, gathered rules, each kind of subject, none at all.
SHAPES = [
    ("ClusterRole", "system:controller:deployment-controller"),
    ("ClusterRole", "system:controller:certificate-controller"),
    ("ClusterRole", "system:discovery"),
    ("ClusterRole", "edit"),
    ("ClusterRoleBinding", "system:kube-dns"),
    ("ClusterRoleBinding", "system:public-info-viewer"),
    ("ClusterRoleBinding", "system:node"),
    ("Role", "extension-apiserver-authentication-reader"),
    ("RoleBinding", "system::leader-locking-kube-scheduler"),
]


def collection(manifest: Obj) -> str:
    namespace = manifest["metadata"].get("namespace")
    where = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
    return f"{where}/{PLURALS[manifest['kind']]}"


def without_identity(obj: Obj) -> Obj:
    metadata = {**obj["metadata"], "uid": "", "creationTimestamp": "", "resourceVersion": ""}
    fields = [{**entry, "time": "", "manager": ""} for entry in metadata["managedFields"]]
    return {**obj, "metadata": {**metadata, "managedFields": fields}}


@pytest.mark.parametrize(("kind", "name"), SHAPES)
async def test_a_default_role_is_stored_as_a_create_request_stores_it(api: Api, kind: str, name: str) -> None:
    (manifest,) = (one for one in default_access() if (one["kind"], one["metadata"]["name"]) == (kind, name))
    path = f"{collection(manifest)}/{name}"
    placed = (await api.get(path)).body

    await api.delete(path)
    created = (await api.create(collection(manifest), manifest)).body

    assert without_identity(placed) == without_identity(created)


@pytest.mark.parametrize(
    ("account", "verb", "path", "allowed"),
    [
        ("deployment-controller", "create", "apps replicasets", True),
        ("deployment-controller", "create", "core secrets", False),
        ("generic-garbage-collector", "delete", "example.com anything", True),
        ("horizontal-pod-autoscaler", "update", "apps deployments/scale", True),
        ("kube-dns", "watch", "core services", True),
        ("nobody-s-controller", "list", "core pods", False),
    ],
)
async def test_a_controller_may_do_its_own_work(
    server: ApiServer, account: str, verb: str, path: str, allowed: bool
) -> None:
    identity = Identity(f"system:serviceaccount:kube-system:{account}", service_account_groups("kube-system"))
    group, _, resource = path.partition(" ")
    plural, _, part = resource.partition("/")
    asked = {"verb": verb, "group": "" if group == "core" else group, "resource": plural, "subresource": part}
    review = {"spec": {"resourceAttributes": {**asked, "namespace": "default"}}}

    told = await Api(server.connect(identity)).create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)

    assert told.body["status"]["allowed"] is allowed
