"""Two examples on a real cluster with their hooks behind HTTP: scaled, rolled out, broken by hand and deleted."""

import asyncio
import re
import sys
from contextlib import asynccontextmanager

import pytest

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.cli.composite_parts import place_in
from hanse.composite.hosting.server import ControllerServer
from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.client import WriteOptions
from hanse.kube.conditions import is_true
from hanse.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from hanse.kube.http import HttpTransport
from hanse.kube.manifest import controller_of, is_deleting, uid_of
from hanse.kube.resources import CRDS, PODS, SERVICES, Resource
from tests.kubernetes.follower import closing
from tests.kubernetes.real import MEMBER, real_clusters, wait_until
from tests.simulation.composite.examples import FOLDER, Example

pytestmark = pytest.mark.kubernetes

PATIENCE_SECONDS = 60.0
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
CATSETS = Resource("examples.hanse.dev", "v1", "catsets", "CatSet")
JOBS = Resource("batch", "v1", "jobs", "Job")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
ANNOTATION = "examples.hanse.dev/service-per-pod"


@pytest.fixture(scope="module")
def cluster():
    with real_clusters({"member": MEMBER}) as clusters:
        clusters["member"].start_nodes(index=31)
        yield clusters["member"]


def webhooks(cluster, example):
    """Serve an example's hooks by its own program, and return where."""
    name = f"webhooks-of-{example.name}"
    program = [sys.executable, "-u", str(FOLDER / "webhook.py"), str(example.folder / "hook.py"), "--port=0"]
    cluster.processes.start(name, program)

    def address():
        return re.search(r"http://[0-9.:]+", cluster.processes.log(name).read_text())

    wait_until(lambda: address() is not None, seconds=PATIENCE_SECONDS, what=f"the webhooks of {example.name}")
    return address().group()


@asynccontextmanager
async def served(client):
    """Run lambda controllers in the cluster for the length of a block."""
    for definition in METACONTROLLER_CRDS:
        await client.create(CRDS, definition)
    running = asyncio.create_task(ControllerServer(place_in(client, trusted=True)).run())
    yield
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def until(holds):
    runtime = SystemRuntime()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await holds():
            await runtime.sleep(0.05)


async def create(client, example, address):
    """Create what an example has; a kind may take a moment to be served after its definition."""
    files = ["crd.yaml", "controller-webhook.yaml", "service.yaml", "parent.yaml"]
    documents = [each for file in files if (example.folder / file).exists() for each in example.documents(file)]
    for document in documents:
        for hook in document["spec"].get("hooks", {}).values():
            hook["webhook"]["url"] = hook["webhook"]["url"].replace("http://127.0.0.1:8080", address)

        async def created(document=document):
            client.discovery.forget()
            try:
                resource = await client.resource_of(document)
                namespace = {"namespace": "default"} if resource.namespaced else {}
                await client.create(resource, {**document, "metadata": namespace | document["metadata"]})
            except (NotFound, Conflict):
                return False
            return True

        await until(created)


async def names(client, resource):
    return sorted(each["metadata"]["name"] for each in (await client.list(resource, "default")).items)


async def ready_cats(client):
    """Return the images of the pods that are ready and stay, by name."""
    listed = (await client.list(PODS, "default", labels="app=cats")).items
    return {
        pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"]
        for pod in listed
        if not is_deleting(pod) and is_true((pod.get("status") or {}).get("conditions"), "Ready")
    }


async def live_catset(client):
    """Scale, roll out, break and delete a CatSet."""

    async def cats(count, image):
        return await ready_cats(client) == {f"cats-{ordinal}": image for ordinal in range(count)}

    async def gone():
        return await client.find(CATSETS, "cats", "default") is None

    await until(lambda: cats(3, "nginx:1.29"))
    catset = uid_of(await client.get(CATSETS, "cats", "default"))
    await client.patch(CATSETS, "cats", {"spec": {"replicas": 2}}, "default", subresource="scale")
    await until(lambda: cats(2, "nginx:1.29"))
    assert await names(client, CLAIMS) == ["www-cats-0", "www-cats-1", "www-cats-2"]
    container = (await client.get(CATSETS, "cats", "default"))["spec"]["template"]["spec"]["containers"][0]
    template = {"spec": {"containers": [container | {"image": "nginx:1.30"}]}}
    await client.patch(CATSETS, "cats", {"spec": {"template": template}}, "default")
    await until(lambda: cats(2, "nginx:1.30"))
    first = uid_of(await client.get(PODS, "cats-0", "default"))
    await client.delete(PODS, "cats-0", "default")
    await until(lambda: _is_another(client, "cats-0", first))
    await until(lambda: cats(2, "nginx:1.30"))
    await client.delete(CATSETS, "cats", "default")
    await until(gone)
    assert [each for each in await names(client, PODS) if each.startswith("cats")] == []
    # The garbage collector looks for new kinds twice a minute, and then takes what they owned.
    owners = {controller_of(each)["uid"] for each in (await client.list(CLAIMS, "default")).items}
    assert owners <= {catset}


async def _is_another(client, name, uid):
    found = await client.find(PODS, name, "default")
    return found is not None and uid_of(found) != uid


async def live_services(client):
    """Scale, break and delete a StatefulSet whose pods have Services."""

    async def services(*wanted):
        return [name for name in await names(client, SERVICES) if name.startswith("db-")] == list(wanted)

    async def selects():
        return (await client.get(SERVICES, "db-1", "default"))["spec"]["selector"] == {
            "statefulset.kubernetes.io/pod-name": "db-1"
        }

    await until(lambda: services("db-0", "db-1"))
    await client.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 3}}, "default")
    await client.delete(SERVICES, "db-0", "default")
    wrong = {"spec": {"selector": {"statefulset.kubernetes.io/pod-name": "db-7"}}}
    await client.patch(SERVICES, "db-1", wrong, "default")
    await until(lambda: services("db-0", "db-1", "db-2"))
    await until(selects)
    await client.patch(STATEFUL_SETS, "db", {"metadata": {"annotations": {ANNOTATION: None}}}, "default")
    await until(services)
    await client.patch(STATEFUL_SETS, "db", {"metadata": {"annotations": {ANNOTATION: "80"}}}, "default")
    await until(lambda: services("db-0", "db-1", "db-2"))
    await client.delete(STATEFUL_SETS, "db", "default")
    await until(services)


@pytest.mark.parametrize(("policy", "refusal"), [("Never", AlreadyExists), ("Always", Invalid)])
async def test_a_real_server_looks_at_a_new_object_before_it_looks_for_its_name(cluster, policy, refusal):
    """That is how a child is known to be replaceable before the old one is deleted for it."""
    pod = {"restartPolicy": policy, "containers": [{"name": "a", "image": "a"}]}
    metadata = {"name": f"job-{policy.lower()}", "namespace": "default"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": pod}}}
    endpoint = Kubeconfig.load(cluster.kubeconfig).endpoint()
    async with closing(Client(HttpTransport(endpoint), SystemRuntime())) as client:
        valid = {**job, "spec": {"suspend": True, "template": {"spec": {**pod, "restartPolicy": "Never"}}}}
        await client.create(JOBS, valid)
        with pytest.raises(refusal):
            await client.create(JOBS, job, options=WriteOptions(dry_run=True))


async def test_webhooks_of_the_examples_run_a_catset_and_services_per_pod(cluster):
    catset, service_per_pod = Example("catset"), Example("service-per-pod")
    addresses = {example: webhooks(cluster, example) for example in (catset, service_per_pod)}
    endpoint = Kubeconfig.load(cluster.kubeconfig).endpoint()
    async with closing(Client(HttpTransport(endpoint), SystemRuntime())) as client, served(client):
        for example, address in addresses.items():
            await create(client, example, address)
        await asyncio.gather(live_catset(client), live_services(client))
