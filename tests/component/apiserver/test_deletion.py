"""Deletion: finalizers, grace, owners, namespaces."""

from __future__ import annotations

from typing import Any

import pytest

from tests.component.apiserver.conftest import Api, config, deployment, pod

CONFIGS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


async def owned(api: Api, owner: str, name: str, **more: Any) -> None:
    """Create a ConfigMap that belongs to another."""
    uid = (await api.get(f"{CONFIGS}/{owner}")).body["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, **more}
    assert (await api.create(CONFIGS, config(name, ownerReferences=[reference]))).code == 201


async def test_an_object_with_finalizers_waits_for_them(api: Api) -> None:
    await api.create(CONFIGS, config("a", finalizers=["example.com/hold"]))
    marked = await api.delete(f"{CONFIGS}/a")
    assert marked.body["metadata"]["deletionTimestamp"]
    refused = await api.patch(f"{CONFIGS}/a", {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}})
    assert refused.code == 422
    await api.patch(f"{CONFIGS}/a", {"metadata": {"finalizers": None}})
    assert (await api.get(f"{CONFIGS}/a")).code == 404


async def test_a_running_pod_leaves_when_its_kubelet_says_so(api: Api) -> None:
    await api.create(PODS, pod("p", nodeName="n"))
    marked = await api.delete(f"{PODS}/p")
    assert marked.body["metadata"]["deletionGracePeriodSeconds"] == 30
    assert (await api.get(f"{PODS}/p")).code == 200
    await api.delete(f"{PODS}/p", {"gracePeriodSeconds": 0})
    assert (await api.get(f"{PODS}/p")).code == 404


async def test_a_pod_without_a_node_leaves_at_once(api: Api) -> None:
    await api.create(PODS, pod("p"))
    await api.delete(f"{PODS}/p")
    assert (await api.get(f"{PODS}/p")).code == 404


async def test_a_deletion_for_another_incarnation_is_a_conflict(api: Api) -> None:
    await api.create(CONFIGS, config("a"))
    refused = await api.delete(f"{CONFIGS}/a", {"preconditions": {"uid": "another"}})
    assert refused.code == 409
    assert (await api.get(f"{CONFIGS}/a")).code == 200


async def test_dependents_follow_their_owner_in_the_background(api: Api) -> None:
    await api.create(CONFIGS, config("owner"))
    await owned(api, "owner", "child")
    await owned(api, "child", "grandchild")
    answered = await api.delete(f"{CONFIGS}/owner", {"propagationPolicy": "Background"})
    assert answered.body["status"] == "Success"
    await api.until_gone(f"{CONFIGS}/child")
    await api.until_gone(f"{CONFIGS}/grandchild")


async def test_in_the_foreground_the_owner_goes_last(api: Api) -> None:
    await api.create(CONFIGS, config("owner"))
    await owned(api, "owner", "child", blockOwnerDeletion=True)
    await api.patch(f"{CONFIGS}/child", {"metadata": {"finalizers": ["example.com/hold"]}})
    events = await api.watch(f"{CONFIGS}?fieldSelector=metadata.name=child&resourceVersion=1")
    marked = await api.delete(f"{CONFIGS}/owner", {"propagationPolicy": "Foreground"})
    assert marked.body["metadata"]["finalizers"] == ["foregroundDeletion"]
    while not (await events.next())[1]["metadata"].get("deletionTimestamp"):
        continue
    assert (await api.get(f"{CONFIGS}/owner")).code == 200
    await api.patch(f"{CONFIGS}/child", {"metadata": {"finalizers": None}})
    await api.until_gone(f"{CONFIGS}/owner")


async def test_orphans_stay_without_their_owner(api: Api) -> None:
    await api.create(CONFIGS, config("owner"))
    await owned(api, "owner", "child")
    await api.delete(f"{CONFIGS}/owner", {"propagationPolicy": "Orphan"})
    await api.until_gone(f"{CONFIGS}/owner")
    child = await api.get(f"{CONFIGS}/child")
    assert "ownerReferences" not in child.body["metadata"]


async def test_an_object_of_an_owner_that_never_was_is_collected(api: Api) -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "no-such-uid"}
    await api.create(CONFIGS, config("lost", ownerReferences=[reference]))
    await api.until_gone(f"{CONFIGS}/lost")


async def test_a_collection_is_deleted_by_its_selector(api: Api) -> None:
    await api.create(CONFIGS, config("a", labels={"x": "y"}))
    await api.create(CONFIGS, config("b"))
    await api.delete(f"{CONFIGS}?labelSelector=x=y")
    assert (await api.get(f"{CONFIGS}/a")).code == 404
    assert (await api.get(f"{CONFIGS}/b")).code == 200


async def test_a_namespace_has_its_account_and_goes_with_all_it_holds(api: Api) -> None:
    await api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    await api.until("/api/v1/namespaces/shop/serviceaccounts/default", 200)
    await api.create(CONFIGS.replace("default", "shop"), config("a"))
    await api.create(DEPLOYMENTS.replace("default", "shop"), deployment())
    marked = await api.delete("/api/v1/namespaces/shop")
    assert marked.body["status"]["phase"] == "Terminating"
    await api.until_gone("/api/v1/namespaces/shop")
    assert (await api.get(DEPLOYMENTS.replace("default", "shop"))).body["items"] == []


async def test_a_terminating_namespace_takes_nothing_new(api: Api) -> None:
    await api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    held = CONFIGS.replace("default", "shop")
    await api.create(held, config("a", finalizers=["example.com/hold"]))
    await api.delete("/api/v1/namespaces/shop")
    refused = await api.create(held, config("b"))
    assert refused.code == 403
    assert refused.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    await api.patch(f"{held}/a", {"metadata": {"finalizers": None}})
    await api.until_gone("/api/v1/namespaces/shop")


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease"])
async def test_every_cluster_begins_with_its_namespaces(api: Api, name: str) -> None:
    found = await api.get(f"/api/v1/namespaces/{name}")
    assert found.body["status"]["phase"] == "Active"
