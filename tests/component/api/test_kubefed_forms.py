"""KubeFed's YAML on the embedded API server: what it takes, what it refuses and why, what it fills in."""

import asyncio

import pytest
import pytest_asyncio

from hanse.api.kubefed.config import CONFIGS
from hanse.api.kubefed.forms import FORM_A, FORM_D
from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.errors import Invalid
from hanse.kube.resources import CRDS
from hanse.kube.runtime import SystemRuntime
from tests.behaviour.kubefed_forms import (
    CONFIG_DEFAULTS,
    REFUSED,
    accepted,
    config,
    refusal,
    sample,
    serve_kubefed,
    taken,
    without_nulls,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")
ACCEPTED = accepted()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host():
    runtime = SystemRuntime()
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    await serve_kubefed(client)
    yield client
    await client.close()
    await server.close()


@pytest.mark.parametrize("manifest", ACCEPTED.values(), ids=list(ACCEPTED))
async def test_what_was_written_for_kubefed_is_kept_word_for_word(host, manifest):
    written = await taken(host, manifest)

    assert without_nulls(manifest.get("spec")) == without_nulls(written.get("spec"))


@pytest.mark.parametrize("case", REFUSED.values(), ids=list(REFUSED))
async def test_a_refusal_names_the_field_and_the_reason(host, case):
    said = await refusal(host, case.manifest)

    assert case.field in said
    assert case.says in said


async def test_124_125_a_configuration_gets_its_defaults_and_keeps_its_scope(host):
    written = await taken(host, config())
    assert written["spec"] == CONFIG_DEFAULTS

    written["spec"]["scope"] = "Namespaced"
    with pytest.raises(Invalid, match=r"spec\.scope: .*must stay what it is"):
        await host.update(CONFIGS, written)

    await host.delete(CONFIGS, "kubefed", "default")
    chosen = {"renewDeadline": "30s", "leaseDuration": "1m30s"}
    kept = await taken(host, config(leaderElect=chosen))
    assert kept["spec"]["leaderElect"] == CONFIG_DEFAULTS["leaderElect"] | chosen


async def test_the_short_names_of_kubefed_mean_its_last_form(host):
    found = await asyncio.gather(*(host.discovery.named(word) for word in ("fdeploy", "fns", "fcm", "rsp", "ftc")))

    assert [one.group_resource for one in found] == [
        "federateddeployments.types.kubefed.io",
        "federatednamespaces.types.kubefed.io",
        "federatedconfigmaps.types.kubefed.io",
        "replicaschedulingpreferences.scheduling.kubefed.io",
        "federatedtypeconfigs.core.kubefed.io",
    ]


async def test_a_kind_without_its_group_means_the_last_form_after_a_restart_too():
    runtime, storage = SystemRuntime(), MemoryStorage()
    chosen = [
        one for one in kubefed_definitions(forms=(FORM_D, FORM_A)) if one["spec"]["names"]["kind"] == "FederatedSecret"
    ]
    assert [one["spec"]["group"] for one in chosen] == ["types.kubefed.io", "core.federation.k8s.io"]
    for _ in range(2):
        server = await ApiServer.open(name="host", storage=storage, runtime=runtime)
        client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
        while chosen:
            await client.create(CRDS, chosen.pop(0))
        assert (await client.discovery.named("federatedsecrets")).group == "types.kubefed.io"
        await client.close()
        await server.close()


async def test_a_key_without_a_value_in_an_override_of_form_a_is_kept(host):
    manifest = next(one for one in ACCEPTED.values() if one["kind"] == "FederatedSecretOverride")
    manifest = {**manifest, "metadata": {"name": "null", "namespace": "default"}}

    assert (await taken(host, manifest))["spec"]["overrides"][0]["data"] == {"A": None, "B": "YWJj"}


async def test_the_status_of_a_federated_object_is_written_apart(host):
    manifest = sample()
    manifest["metadata"]["name"] = "with-status"
    written = await taken(host, manifest)
    resource = await host.resource_of(manifest)
    status = {
        "observedGeneration": 1,
        "conditions": [{"type": "Propagation", "status": "False", "reason": "CheckClusters"}],
        "clusters": [{"name": "cluster1", "status": "", "remoteStatus": {"availableReplicas": 3}}],
    }

    await host.update(resource, {**written, "status": status}, subresource="status")

    read = await host.get(resource, "with-status", "default")
    assert read["status"] == status
    assert read["metadata"]["generation"] == 1
