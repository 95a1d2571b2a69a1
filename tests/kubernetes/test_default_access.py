"""The embedded server begins with the roles and bindings that a real one begins with."""

import json

import pytest

from hanse.apiserver.default_access import default_access
from hanse.kube.manifest import Obj
from tests.kubernetes.real import RealCluster

# Filled in by a controller of a real cluster, from other roles of this list.
_GATHERED = {"admin", "edit", "view"}


def access(manifest: Obj) -> Obj:
    metadata = manifest["metadata"]
    shown = {field: manifest.get(field) for field in ("aggregationRule", "roleRef", "rules", "subjects")}
    if metadata["name"] in _GATHERED:
        del shown["rules"]
    return {**shown, "labels": metadata["labels"], "annotations": metadata["annotations"]}


def by_name(manifests: list[Obj], kind: str) -> dict[tuple[str, str], Obj]:
    return {
        (one["metadata"].get("namespace", ""), one["metadata"]["name"]): access(one)
        for one in manifests
        if one["kind"] == kind
    }


@pytest.mark.parametrize("kind", ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"])
def test_the_default_roles_and_bindings_are_those_of_a_real_server(host: RealCluster, kind: str) -> None:
    bootstrapped = ("--selector=kubernetes.io/bootstrapping=rbac-defaults", "--all-namespaces", "--output=json")
    listed = json.loads(host.kubectl("get", kind, *bootstrapped))["items"]

    assert by_name(listed, kind) == by_name(list(default_access()), kind)
