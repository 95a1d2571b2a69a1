"""FederatedTypeConfigs on an API server in memory: what they say, and how long they stay."""

import asyncio

import pytest

from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.kubefed.generation import federated_definitions
from hanse.api.kubefed.type_configs import TYPE_CONFIG_CRDS, TYPE_CONFIGS, type_config_manifest
from hanse.api.names import FINALIZER
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.federated import TypeKeeper
from hanse.kube.client import Client
from hanse.kube.manifest import dig, finalizers_of
from hanse.kube.resources import CRDS, DEPLOYMENTS, Resource
from hanse.kube.runtime import SeededRuntime

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
FEDERATED_WIDGETS = template_resource(FORM_D, WIDGETS)


@pytest.fixture
async def host():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    for crd in (*TYPE_CONFIG_CRDS, *federated_definitions(FORM_D, WIDGETS, None)):
        await client.create(CRDS, crd)
    await runtime.sleep(1.0)
    keeper = asyncio.create_task(TypeKeeper(client).run())
    yield client
    keeper.cancel()
    await asyncio.gather(keeper, return_exceptions=True)
    await server.close()


async def config_of(host, target):
    await host.runtime.sleep(3.0)
    return await host.find(TYPE_CONFIGS, target.group_resource, "default")


async def test_a_config_is_held_told_and_let_go(host):
    """Line 109 of KubeFed's checklist."""
    await host.create(TYPE_CONFIGS, type_config_manifest(DEPLOYMENTS, FORM_D, "default"))
    config = await config_of(host, DEPLOYMENTS)
    assert config["status"] == {"observedGeneration": 1, "propagationController": "Running"}
    assert finalizers_of(config) == ["core.kubefed.io/federated-type-config"]
    await host.patch(TYPE_CONFIGS, "deployments.apps", {"spec": {"propagation": "Disabled"}}, "default")
    assert dig(await config_of(host, DEPLOYMENTS), "status", "propagationController") == "NotRunning"
    await host.delete(TYPE_CONFIGS, "deployments.apps", "default")
    assert await config_of(host, DEPLOYMENTS) is None


async def test_a_config_that_its_objects_need_stays_until_they_are_let_go(host):
    await host.create(TYPE_CONFIGS, type_config_manifest(WIDGETS, FORM_D, "default"))
    widget = {
        "apiVersion": FEDERATED_WIDGETS.api_version,
        "kind": FEDERATED_WIDGETS.kind,
        "metadata": {"name": "w", "namespace": "default", "finalizers": [FINALIZER]},
        "spec": {"template": {}},
    }
    await host.create(FEDERATED_WIDGETS, widget)
    await config_of(host, WIDGETS)
    await host.delete(TYPE_CONFIGS, "widgets.example.com", "default")
    held = await config_of(host, WIDGETS)
    assert dig(held, "status", "propagationController") == "NotRunning"
    await host.patch(FEDERATED_WIDGETS, "w", {"metadata": {"finalizers": []}}, "default")
    assert await config_of(host, WIDGETS) is None
