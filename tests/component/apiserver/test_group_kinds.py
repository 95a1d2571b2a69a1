"""Kinds of small groups: APIServices that are told, RuntimeClasses that complete pods."""

from __future__ import annotations

from hanse.kube.manifest import Obj
from tests.component.apiserver.conftest import Api, pod

PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
SANDBOXED = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "sandboxed"},
    "handler": "gvisor",
    "overhead": {"podFixed": {"cpu": "250m"}},
    "scheduling": {"nodeSelector": {"sandbox": "yes"}},
}


async def test_every_group_and_version_is_a_local_api_service(api: Api) -> None:
    listed = (await api.get("/apis/apiregistration.k8s.io/v1/apiservices")).body["items"]
    names = {one["metadata"]["name"] for one in listed}
    assert {"v1.", "v1.apps", "v2.autoscaling", "v1.apiregistration.k8s.io"} <= names
    assert all(one["status"]["conditions"][0]["reason"] == "Local" for one in listed)
    assert (await api.get("/apis/apiregistration.k8s.io/v1/apiservices/v1.apps")).body["spec"]["group"] == "apps"


async def test_an_api_service_cannot_be_added(api: Api) -> None:
    assert (await api.create("/apis/apiregistration.k8s.io/v1/apiservices", {})).code == 405


async def test_a_pod_follows_its_runtime_class(api: Api) -> None:
    assert (await api.create(CLASSES, SANDBOXED)).code == 201
    made = (await api.create(PODS, pod("a", runtimeClassName="sandboxed"))).body["spec"]
    assert (made["overhead"], made["nodeSelector"]) == ({"cpu": "250m"}, {"sandbox": "yes"})


async def test_a_pod_of_an_unknown_runtime_class_is_refused(api: Api) -> None:
    refused = await api.create(PODS, pod("a", runtimeClassName="none"))
    assert (refused.code, 'RuntimeClass "none" not found' in refused.body["message"]) == (403, True)


async def test_the_handler_of_a_runtime_class_cannot_change(api: Api) -> None:
    await api.create(CLASSES, SANDBOXED)
    assert (await api.patch(f"{CLASSES}/sandboxed", {"handler": "kata"})).code == 422


async def test_a_review_has_no_form_of_a_table(api: Api) -> None:
    review: Obj = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    review["spec"] = {"nonResourceAttributes": {"path": "/", "verb": "get"}}
    path, table = (
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
    )
    assert (await api.call("POST", path, review, accept=table)).code == 406
    assert (await api.call("POST", path, review, accept=f"{table},application/json")).code == 201
