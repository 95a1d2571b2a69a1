"""Two real clusters that export services to each other: the registry and the multi-cluster services run here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from hanse.api.clusters import CLUSTERS
from hanse.api.mcs import MCS_ANNOTATION, SERVICE_EXPORTS, SERVICE_IMPORTS, SERVICE_NAME_LABEL
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.control_plane import prepare_host
from hanse.clusters.account import CLUSTER_ROLES, RESOURCE_OF, Account
from hanse.clusters.joining import Wish, join_with_account
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import DEPLOYMENTS, ENDPOINT_SLICES, NAMESPACES, SERVICES
from hanse.kube.runtime import SystemRuntime
from hanse.native.kinds import DEFAULT_KINDS
from hanse.services.mcs.controller import MultiClusterServices
from hanse.services.mcs.installing import install_mcs, mcs_account_manifests
from tests.kubernetes.real import RealCluster

PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.1
_ADMINISTRATOR = Identity("admin", ("system:masters",))


class ClusterSet:
    """Clusters that take part, as somebody sees them who may do everything in one namespace of each."""

    def __init__(self, clients: Mapping[str, Client], namespace: str) -> None:
        self.clients = clients
        self.namespace = namespace

    async def serve(self, cluster: str, **spec: Any) -> None:
        """Have a cluster serve `hello`, as the public conformance suite does."""
        await self.create(cluster, SERVICES, hello_service(**spec))

    async def export(self, cluster: str, **spec: Any) -> None:
        """Have a cluster export `hello`."""
        await self.create(cluster, SERVICE_EXPORTS, {"metadata": {"name": "hello"}, "spec": spec})

    async def unexport(self, cluster: str) -> None:
        """Have a cluster export `hello` no longer."""
        await self.clients[cluster].delete(SERVICE_EXPORTS, "hello", self.namespace)

    async def run_pods(self, cluster: str) -> None:
        """Run what is behind `hello`."""
        labels = {"app": "hello"}
        pods = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "hello", "image": "hello"}]}}
        spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": pods}
        await self.create(cluster, DEPLOYMENTS, {"metadata": {"name": "hello"}, "spec": spec})

    async def create(self, cluster: str, resource: Any, obj: Obj) -> None:
        """Create something in the namespace."""
        made = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        made["metadata"] = {**made["metadata"], "namespace": self.namespace}
        await self.clients[cluster].create(resource, made)

    async def imported(self, cluster: str) -> Obj | None:
        """Return what a cluster imports, None where it imports nothing."""
        return await self.clients[cluster].find(SERVICE_IMPORTS, "hello", self.namespace)

    async def slices(self, cluster: str) -> list[Obj]:
        """Return the slices that came from exporting clusters, those with endpoints."""
        listed = await self.clients[cluster].list(ENDPOINT_SLICES, self.namespace, labels=SERVICE_NAME_LABEL)
        return [entry for entry in listed.items if entry.get("endpoints")]

    async def until_imported(self, cluster: str, holds: Callable[[Obj], Any] = bool) -> Obj:
        """Wait for an import of which something holds, and return it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (found := await self.imported(cluster)) is None or not holds(found):
                await self._pause()
        return found

    async def until_not_imported(self, cluster: str) -> None:
        """Wait until a cluster imports nothing and holds nothing of others."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await self.imported(cluster) is not None or await self.slices(cluster):
                await self._pause()

    async def until_slices(self, cluster: str) -> list[Obj]:
        """Wait for slices with endpoints."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (found := await self.slices(cluster)):
                await self._pause()
        return found

    async def until_told(self, cluster: str, condition: str, status: str, reason: str) -> None:
        """Wait until an export says something of itself."""
        told: Obj = {}
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (told.get("status"), told.get("reason")) != (status, reason):
                await self._pause()
                found = await self.clients[cluster].get(SERVICE_EXPORTS, "hello", self.namespace)
                told = find_condition(dig(found, "status", "conditions"), condition) or {}

    async def _pause(self) -> None:
        await next(iter(self.clients.values())).runtime.sleep(_PAUSE_SECONDS)


def hello_service(**spec: Any) -> Obj:
    """Return the Service that the public conformance suite exports."""
    return {
        "metadata": {"name": "hello", "labels": {"dummy-svc": "dummy"}, "annotations": {"dummy-svc": "dummy"}},
        "spec": {
            "selector": {"app": "hello"},
            "ports": [
                {"name": "tcp", "port": 42, "protocol": "TCP"},
                {"name": "udp", "port": 42, "protocol": "UDP"},
            ],
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10}},
            "ipFamilyPolicy": "PreferDualStack",
            **spec,
        },
    }


@contextmanager
def exporting(clusters: Mapping[str, RealCluster]) -> Iterator[None]:
    """Have real clusters take part for the length of a block, each by an account with just the rights that it needs."""
    running, loop = threading.Event(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    work = asyncio.run_coroutine_threadsafe(_take_part(clusters, running), loop)
    work.add_done_callback(lambda _work: running.set())
    try:
        if not running.wait(PATIENCE_SECONDS) or work.done():
            raise AssertionError(f"the clusters do not take part: {work.exception() if work.done() else 'not yet'}")
        yield
    finally:
        asyncio.run_coroutine_threadsafe(_end_all(), loop).result(PATIENCE_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _take_part(clusters: Mapping[str, RealCluster], running: threading.Event) -> None:
    runtime = SystemRuntime()
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Client(server.connect(_ADMINISTRATOR), runtime)
    try:
        await prepare_host(host)
        for cluster in clusters.values():
            async with _administrator(cluster) as member:
                await _enrol(host, member, cluster)
        registry = Registry(host, lambda endpoint: HttpTransport(endpoint, user_agent="hanse-controller"))
        MultiClusterServices(host, registry).attach()
        running.set()
        await registry.run()
    finally:
        await server.close()


async def _enrol(host: Client, member: Client, cluster: RealCluster) -> None:
    endpoint, account = Kubeconfig.load(cluster.kubeconfig).endpoint(), Account(cluster.name)
    await join_with_account(host, member, endpoint, cluster.name, Wish({}, kinds=DEFAULT_KINDS))
    await install_mcs(member)
    role = await member.get(CLUSTER_ROLES, account.role)
    for manifest in mcs_account_manifests(account, role):
        await member.apply(RESOURCE_OF[manifest["kind"]], manifest)
    await host.patch(CLUSTERS, cluster.name, {"metadata": {"annotations": {MCS_ANNOTATION: "true"}}})


@asynccontextmanager
async def _administrator(cluster: RealCluster) -> AsyncIterator[Client]:
    endpoint = Kubeconfig.load(cluster.kubeconfig).endpoint()
    client = Client(HttpTransport(endpoint, user_agent="test"), SystemRuntime())
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def cluster_set(clusters: Mapping[str, RealCluster], namespace: str) -> AsyncIterator[ClusterSet]:
    """Look at clusters that take part, with a namespace of the same name in each."""
    async with AsyncExitStack() as stack:
        clients = {name: await stack.enter_async_context(_administrator(each)) for name, each in clusters.items()}
        for client in clients.values():
            await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        try:
            yield ClusterSet(clients, namespace)
        finally:
            for client in clients.values():
                await client.delete(NAMESPACES, namespace)
