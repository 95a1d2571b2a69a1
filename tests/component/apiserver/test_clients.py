"""Client libraries that are not ours create, list, watch, patch and delete on a served instance."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.component.apiserver.real_tools import served

pytestmark = [
    pytest.mark.kubernetes,
    # What these libraries do with deprecated parts of others is not ours to mend.
    pytest.mark.filterwarnings("default"),
]

kubernetes = pytest.importorskip("kubernetes", reason="the group `clients` is not installed: make test-kubernetes does")
kubernetes_asyncio = pytest.importorskip("kubernetes_asyncio", reason="the group `clients` is not installed")

NAME, SPACE = "web", "default"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with served(tmp_path_factory.mktemp("served")) as folder:
        yield folder


def deployment() -> dict[str, object]:
    labels = {"app": NAME}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "nginx"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "labels": labels},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }


def test_the_official_client_uses_a_deployment_from_birth_to_end(folder: Path) -> None:
    api = kubernetes.client.AppsV1Api(kubernetes.config.new_client_from_config(str(folder / "kubeconfig")))
    before = api.list_namespaced_deployment(SPACE).metadata.resource_version

    created = api.create_namespaced_deployment(SPACE, deployment())
    patched = api.patch_namespaced_deployment(NAME, SPACE, {"spec": {"replicas": 5}})
    api.delete_namespaced_deployment(NAME, SPACE, propagation_policy="Background")

    seen = []
    watching = kubernetes.watch.Watch()
    for event in watching.stream(api.list_namespaced_deployment, SPACE, resource_version=before, timeout_seconds=20):
        seen.append((event["type"], event["object"].spec.replicas))
        if event["type"] == "DELETED":
            watching.stop()

    assert created.metadata.uid == patched.metadata.uid
    assert seen == [("ADDED", 2), ("MODIFIED", 5), ("DELETED", 5)]
    assert api.list_namespaced_deployment(SPACE, label_selector=f"app={NAME}").items == []


def test_the_official_clients_dynamic_side_discovers_and_applies(folder: Path) -> None:
    client = kubernetes.config.new_client_from_config(str(folder / "kubeconfig"))
    dynamic = kubernetes.dynamic.DynamicClient(client)
    configs = dynamic.resources.get(api_version="v1", kind="ConfigMap")
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}}

    applied = configs.server_side_apply(body=manifest, namespace=SPACE, field_manager="test")
    with pytest.raises(kubernetes.dynamic.exceptions.ConflictError, match="conflict with"):
        configs.server_side_apply(body={**manifest, "data": {"a": "2"}}, namespace=SPACE, field_manager="other")

    assert applied.metadata.managedFields[0].manager == "test"
    assert dynamic.resources.get(api_version="apps/v1", kind="Deployment").name == "deployments"


def test_the_official_client_tells_refusals_by_their_status(folder: Path) -> None:
    api = kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config(str(folder / "kubeconfig")))
    with pytest.raises(kubernetes.client.ApiException) as refused:
        api.read_namespaced_config_map("absent", SPACE)
    assert (refused.value.status, refused.value.reason) == (404, "Not Found")
    assert '"reason":"NotFound"' in refused.value.body


@pytest.fixture
async def asyncio_client(folder: Path) -> AsyncIterator[object]:
    await kubernetes_asyncio.config.load_kube_config(str(folder / "kubeconfig"))
    async with kubernetes_asyncio.client.ApiClient() as client:
        yield client


async def test_the_asyncio_client_uses_a_config_map_from_birth_to_end(asyncio_client) -> None:
    api = kubernetes_asyncio.client.CoreV1Api(asyncio_client)
    before = (await api.list_namespaced_config_map(SPACE)).metadata.resource_version

    async def follow() -> list[tuple[str, dict[str, str]]]:
        seen = []
        async with kubernetes_asyncio.watch.Watch() as watching:
            found = watching.stream(
                api.list_namespaced_config_map, SPACE, resource_version=before, label_selector="ours"
            )
            async for event in found:
                seen.append((event["type"], event["object"].data))
                if event["type"] == "DELETED":
                    break
        return seen

    following = asyncio.create_task(follow())
    body = {"metadata": {"name": "c", "labels": {"ours": "yes"}}, "data": {"a": "1"}}
    await api.create_namespaced_config_map(SPACE, body)
    await api.patch_namespaced_config_map("c", SPACE, {"data": {"a": "2"}})
    await api.delete_namespaced_config_map("c", SPACE)

    async with asyncio.timeout(20):
        assert await following == [("ADDED", {"a": "1"}), ("MODIFIED", {"a": "2"}), ("DELETED", {"a": "2"})]
