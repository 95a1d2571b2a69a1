"""Whether KubeFed still runs is seen from its leader's lock, however wrong anybody's clock is; on virtual time."""

import asyncio

import orjson
import pytest

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.kubefed_leader import LOCK, lock_of, who_leads
from hanse.kube.client import Client
from hanse.kube.resources import CONFIGMAPS, LEASES, NAMESPACES
from hanse.kube.runtime import SeededRuntime

pytestmark = pytest.mark.looptime

NAMESPACE = "kube-federation-system"


def config_map(moment):
    record = {"holderIdentity": "vm_1", "leaseDurationSeconds": 15, "renewTime": f"2026-01-01T00:00:{moment:02}Z"}
    annotations = {"control-plane.alpha.kubernetes.io/leader": orjson.dumps(record).decode()}
    metadata = {"name": LOCK, "namespace": NAMESPACE, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def lease(moment):
    spec = {
        "holderIdentity": "vm_1",
        "leaseDurationSeconds": 15,
        "renewTime": f"2026-01-01T00:00:{moment:02}.000000Z",
    }
    metadata = {"name": LOCK, "namespace": NAMESPACE}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


LOCKS = [(CONFIGMAPS, config_map), (LEASES, lease)]


@pytest.fixture
async def host():
    runtime = SeededRuntime(1)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    yield client
    await server.close()


async def test_a_host_without_a_lock_is_nobodys(host):
    begun = asyncio.get_running_loop().time()
    assert await who_leads(host, NAMESPACE) == ""
    assert asyncio.get_running_loop().time() == begun


@pytest.mark.parametrize(("kind", "lock"), LOCKS, ids=["ConfigMap", "Lease"])
async def test_a_lock_that_is_renewed_is_somebodys(host, kind, lock):
    await host.create(kind, lock(0))

    async def renew():
        for moment in range(5, 60, 5):
            await asyncio.sleep(5)
            await host.patch(kind, LOCK, lock(moment), NAMESPACE)

    renewing = asyncio.create_task(renew())
    told = await who_leads(host, NAMESPACE)
    renewing.cancel()
    assert told == f"vm_1 renews its lock {kind.kind} {NAMESPACE}/{LOCK}; stop it"


@pytest.mark.parametrize(("kind", "lock"), LOCKS, ids=["ConfigMap", "Lease"])
async def test_a_lock_that_stays_as_it_is_for_as_long_as_it_counts_is_nobodys(host, kind, lock):
    await host.create(kind, lock(0))
    begun = asyncio.get_running_loop().time()
    assert await who_leads(host, NAMESPACE) == ""
    assert asyncio.get_running_loop().time() - begun >= 15


@pytest.mark.parametrize(
    "annotation", ["", "{}", "no JSON", '{"holderIdentity":"","leaseDurationSeconds":15}', '["a list"]']
)
async def test_a_lock_that_names_nobody_is_nobodys(annotation):
    metadata = {"name": LOCK, "annotations": {"control-plane.alpha.kubernetes.io/leader": annotation}}
    assert lock_of({"kind": "ConfigMap", "metadata": metadata}) is None
