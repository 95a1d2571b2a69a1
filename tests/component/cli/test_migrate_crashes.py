"""A take-over that is killed after every write, and begun again each time: nothing is lost, nothing is doubled."""

import pytest

from hanse.api.cluster_forms import KUBEFED_CLUSTERS
from hanse.api.kubefed.forms import FORM_D, template_resource
from hanse.api.kubefed.hosting import kubefed_definitions
from hanse.api.names import FINALIZER, MANAGED_LABEL, OWNER_ANNOTATION
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.control_plane import prepare_host
from hanse.cli.migrating import read_cluster_plans, read_migration, take_over
from hanse.clusters.member import Member
from hanse.federated.migration import SYNC_FINALIZER
from hanse.kube.client import Client
from hanse.kube.manifest import annotations_of, finalizers_of, labels_of, name_of, uid_of
from hanse.kube.resources import CONFIGMAPS, CRDS, NAMESPACES
from hanse.kube.runtime import SeededRuntime

pytestmark = pytest.mark.looptime

ADMINISTRATOR = Identity("admin", ("system:masters",))
MEMBERS = ("cluster1", "cluster2")
NAMES = ("first", "second")
KUBEFED = "kube-federation-system"
FEDERATED_CONFIGMAPS = template_resource(FORM_D, CONFIGMAPS)


class Killed(Exception):
    """The process ends here."""


class Life:
    """How many writes a process gets done before it is killed."""

    def __init__(self, writes):
        self.left = writes


class Mortal:
    """A transport of a process that dies with the write after its last one."""

    def __init__(self, inner, life):
        self._inner = inner
        self._life = life
        self.address = inner.address

    async def send(self, request, timeout):
        if request.method != "GET":
            if not self._life.left:
                raise Killed
            self._life.left -= 1
        return await self._inner.send(request, timeout)

    async def stream(self, request, timeout):
        return await self._inner.stream(request, timeout)

    async def close(self):
        await self._inner.close()


class World:
    """A host that was KubeFed's, and its members."""

    def __init__(self, servers, runtime):
        self._servers = servers
        self._runtime = runtime
        self.clients = {name: self.client(name, Life(10_000)) for name in servers}

    def client(self, name, life):
        return Client(Mortal(self._servers[name].connect(ADMINISTRATOR), life), self._runtime)

    async def migrate(self, writes):
        """Take over until everything is done or the process is dead; says whether it was done."""
        life = Life(writes)
        host = self.client("host", life)
        members = {name: Member(name, self.client(name, life)) for name in MEMBERS}
        migration = await read_migration(host, await read_cluster_plans(host, KUBEFED), members)
        if not migration.is_done:
            await take_over(host, migration, members)
        return migration.is_done

    async def copies(self, name):
        return [await self.clients[member].get(CONFIGMAPS, name, "shop") for member in MEMBERS]

    async def source(self, name):
        return await self.clients["host"].get(FEDERATED_CONFIGMAPS, name, "shop")


@pytest.fixture
async def world():
    runtime = SeededRuntime(1)
    servers = {
        name: await ApiServer.open(name=name, storage=MemoryStorage(), runtime=runtime) for name in ("host", *MEMBERS)
    }
    opened = World(servers, runtime)
    await installed(opened.clients)
    yield opened
    for server in servers.values():
        await server.close()


async def installed(clients):
    host = clients["host"]
    await prepare_host(host)
    for definition in kubefed_definitions(forms=(FORM_D,)):
        if definition["spec"]["names"]["kind"] == "FederatedConfigMap":
            await host.create(CRDS, definition)
    for client in clients.values():
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    for member in MEMBERS:
        spec = {"apiEndpoint": f"https://{member}.example.com", "secretRef": {"name": member}}
        metadata = {"name": member, "namespace": KUBEFED}
        form = {"apiVersion": KUBEFED_CLUSTERS.api_version, "kind": KUBEFED_CLUSTERS.kind, "metadata": metadata}
        if member == MEMBERS[0]:
            await host.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KUBEFED}})
        await host.create(KUBEFED_CLUSTERS, {**form, "spec": spec})
    for name in NAMES:
        metadata = {"name": name, "namespace": "shop"}
        spec = {"template": {"data": {"a": "1"}}, "placement": {"clusterSelector": {}}}
        federated = {"apiVersion": FEDERATED_CONFIGMAPS.api_version, "kind": "FederatedConfigMap", "spec": spec}
        await host.create(FEDERATED_CONFIGMAPS, {**federated, "metadata": {**metadata, "finalizers": [SYNC_FINALIZER]}})
        labelled = {**metadata, "labels": {"kubefed.io/managed": "true"}}
        copy = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": labelled, "data": {"a": "1"}}
        for member in MEMBERS:
            await clients[member].create(CONFIGMAPS, copy)


async def test_a_take_over_killed_after_every_write_is_finished_by_the_next_ones(world):
    uids = {name: [uid_of(copy) for copy in await world.copies(name)] for name in NAMES}
    lives = 0
    while True:
        try:
            if await world.migrate(writes=1):
                break
        except Killed:
            pass
        lives += 1
        for name in NAMES:
            source, copies = await world.source(name), await world.copies(name)
            assert len(finalizers_of(source)) == 1
            if FINALIZER in finalizers_of(source):
                assert all(MANAGED_LABEL in labels_of(copy) for copy in copies), name
            assert [uid_of(copy) for copy in copies] == uids[name]

    # Two clusters, four copies and two federated objects were written, each once.
    assert lives == len(MEMBERS) + len(MEMBERS) * len(NAMES) + len(NAMES)
    for name in NAMES:
        source = await world.source(name)
        assert finalizers_of(source) == [FINALIZER]
        for copy in await world.copies(name):
            assert (name_of(copy), copy["data"]) == (name, {"a": "1"})
            assert annotations_of(copy)[OWNER_ANNOTATION] == uid_of(source)


async def test_what_somebody_writes_meanwhile_is_looked_at_again(world):
    host, members = world.clients["host"], {name: Member(name, world.clients[name]) for name in MEMBERS}
    migration = await read_migration(host, await read_cluster_plans(host, KUBEFED), members)
    await world.clients["cluster1"].patch(CONFIGMAPS, "first", {"data": {"b": "2"}}, "shop")

    assert await take_over(host, migration, members) == 1

    assert finalizers_of(await world.source("first")) == [SYNC_FINALIZER]
    assert finalizers_of(await world.source("second")) == [FINALIZER]
    assert not await world.migrate(writes=100)
    assert await world.migrate(writes=0)
    assert (await world.copies("first"))[0]["data"] == {"a": "1", "b": "2"}
