"""ResourceQuotas and LimitRanges: what is used is told, what does not fit is refused, what is missing is filled in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hanse.apiserver import ApiServer
from hanse.kube.manifest import Obj, dig
from tests.component.apiserver.conftest import Api, config, pod

NAMESPACE = "/api/v1/namespaces/default"
QUOTAS = f"{NAMESPACE}/resourcequotas"
PODS = f"{NAMESPACE}/pods"


def quota(hard: Obj, **spec: Any) -> Obj:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}


def wanting(name: str, **requests: str) -> Obj:
    return pod(name, containers=[{"name": "app", "image": "nginx", "resources": {"requests": requests}}])


def limits(**item: Any) -> Obj:
    spec = {"limits": [{"type": "Container", **item}]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": spec}


@pytest.fixture
async def counting(server: ApiServer) -> None:
    server.count_quotas()


async def until_used(api: Api, used: Obj) -> None:
    """Wait until the quota says that this is used; every request lets the loop run."""
    async with asyncio.timeout(5):
        while dig((await api.get(f"{QUOTAS}/q")).body, "status", "used") != used:
            continue


@pytest.mark.usefixtures("counting")
async def test_a_quota_tells_what_is_used_and_refuses_what_does_not_fit(api: Api) -> None:
    await api.create(QUOTAS, quota({"pods": "2", "requests.cpu": "1", "memory": "1Gi"}))
    await until_used(api, {"pods": "0", "requests.cpu": "0", "memory": "0"})
    assert (await api.create(PODS, wanting("a", cpu="600m", memory="256Mi"))).code == 201
    await until_used(api, {"pods": "1", "requests.cpu": "600m", "memory": "256Mi"})

    refused = await api.create(PODS, wanting("b", cpu="500m", memory="1Mi"))

    assert refused.code == 403
    assert refused.body["message"] == (
        'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, '
        "limited: requests.cpu=1"
    )
    await api.delete(f"{PODS}/a")
    await until_used(api, {"pods": "0", "requests.cpu": "0", "memory": "0"})


@pytest.mark.usefixtures("counting")
async def test_a_pod_must_say_how_much_it_wants_of_what_is_limited(api: Api) -> None:
    await api.create(QUOTAS, quota({"requests.cpu": "1"}))
    await until_used(api, {"requests.cpu": "0"})
    refused = await api.create(PODS, pod("a"))
    assert "failed quota: q: must specify requests.cpu for: app" in refused.body["message"]


@pytest.mark.usefixtures("counting")
async def test_many_at_once_do_not_get_past_a_quota(api: Api) -> None:
    await api.create(QUOTAS, quota({"count/secrets": "3"}))
    await until_used(api, {"count/secrets": "0"})
    secrets = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"s{number}"}} for number in range(8)]
    answers = await asyncio.gather(*(api.create(f"{NAMESPACE}/secrets", secret) for secret in secrets))
    assert sorted(answer.code for answer in answers) == [201] * 3 + [403] * 5


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize(
    ("scope", "counted"),
    [("BestEffort", "1"), ("NotBestEffort", "0"), ("Terminating", "0"), ("NotTerminating", "1")],
)
async def test_a_quota_with_a_scope_counts_only_the_pods_within(api: Api, scope: str, counted: str) -> None:
    await api.create(QUOTAS, quota({"pods": "5"}, scopes=[scope]))
    await until_used(api, {"pods": "0"})
    await api.create(PODS, pod("a"))
    await api.create(f"{NAMESPACE}/configmaps", config("c"))
    await until_used(api, {"pods": counted})


@pytest.mark.usefixtures("counting")
async def test_a_service_that_becomes_larger_needs_room_too(api: Api) -> None:
    await api.create(QUOTAS, quota({"services": "2", "services.nodeports": "0"}))
    # There is the service `kubernetes` already.
    await until_used(api, {"services": "1", "services.nodeports": "0"})
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    assert (await api.create(f"{NAMESPACE}/services", service)).code == 201
    refused = await api.patch(f"{NAMESPACE}/services/s", {"spec": {"type": "NodePort"}})
    assert (refused.code, "services.nodeports=1" in refused.body["message"]) == (403, True)


async def test_a_quota_that_nobody_counts_limits_nothing(api: Api) -> None:
    await api.create(QUOTAS, quota({"pods": "0"}))
    assert (await api.create(PODS, pod("a"))).code == 201
    assert "hard" not in (await api.get(f"{QUOTAS}/q")).body["status"]


async def test_a_limit_range_completes_containers_and_refuses_those_out_of_range(api: Api) -> None:
    amounts = {"default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "1"}}
    await api.create(f"{NAMESPACE}/limitranges", limits(**amounts))
    made = (await api.create(PODS, pod("a"))).body
    assert made["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}}
    big = [{"name": "app", "image": "nginx", "resources": {"limits": {"cpu": "2"}}}]
    refused = await api.create(PODS, pod("b", containers=big))
    assert refused.code == 403
    assert "maximum cpu usage per Container is 1, but limit is 2" in refused.body["message"]


async def test_the_root_certificate_of_a_namespace_is_put_right(api: Api) -> None:
    path = f"{NAMESPACE}/configmaps/kube-root-ca.crt"
    before = (await api.until(path, 200)).body["data"]
    await api.patch(path, {"data": {"ca.crt": "forged"}})
    async with asyncio.timeout(5):
        while (await api.get(path)).body["data"] != before:
            continue


async def test_a_namespace_that_ends_lets_its_pods_go_before_anything_else(api: Api) -> None:
    await api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    await api.until("/api/v1/namespaces/n/serviceaccounts/default", 200)
    await api.create("/api/v1/namespaces/n/configmaps", config("c"))
    held = pod("p")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await api.create("/api/v1/namespaces/n/pods", held)
    await api.delete("/api/v1/namespaces/n")
    async with asyncio.timeout(5):
        while not dig((await api.get("/api/v1/namespaces/n")).body, "status", "conditions"):
            continue
    assert (await api.get("/api/v1/namespaces/n/configmaps/c")).code == 200
    await api.patch("/api/v1/namespaces/n/pods/p", {"metadata": {"finalizers": None}})
    await api.until_gone("/api/v1/namespaces/n")
