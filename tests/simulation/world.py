"""A whole federation in one process on virtual time: embedded API servers, simulated clusters, the control plane.

Every request that the control plane sends goes through a `Wire`, which counts writes and can be slowed or cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hanse.api.clusters import CLUSTERS
from hanse.api.kubefed.forms import Form
from hanse.api.names import MANAGED_LABEL
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.control_plane import prepare_host, run_control_plane, serve_federated_types
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.errors import NotFound
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import DEPLOYMENTS, Resource
from hanse.kube.runtime import Runtime, SeededRuntime
from hanse.kube.transport import Request, Response, Stream, Transport, Unreachable
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.networking.providers import Provider
from hanse.simulator.settings import ClusterSettings
from tests.simulation.tally import note_fault

ADMINISTRATOR = Identity("admin", ("system:masters",))
WRITES = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(slots=True)
class Wire:
    """A transport that remembers what was written through it and can be broken."""

    inner: Transport
    runtime: Runtime
    writes: list[tuple[str, str]] = field(default_factory=list)
    hanging: bool = False
    latency: float = 0.0
    before_write: Callable[[Request], None] = lambda _request: None

    @property
    def address(self) -> str:
        return self.inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        await self._pass(timeout)
        if request.method in WRITES:
            self.before_write(request)
            self.writes.append((request.method, request.path))
        return await self.inner.send(request, timeout)

    async def stream(self, request: Request, timeout: float) -> Stream:
        await self._pass(timeout)
        return await self.inner.stream(request, timeout)

    async def close(self) -> None:
        await self.inner.close()

    async def _pass(self, timeout: float) -> None:
        if self.hanging:
            await self.runtime.sleep(timeout)
            raise Unreachable(self.address, f"no answer within {timeout:g} s")
        if self.latency:
            await self.runtime.sleep(self.latency)


class World:
    """A host, its members, and a control plane that can be killed and started."""

    def __init__(self, runtime: SeededRuntime, *, forms: tuple[Form, ...] = ()) -> None:
        self.runtime = runtime
        self._forms = forms
        self.servers: dict[str, ApiServer] = {}
        self.clients: dict[str, Client] = {}
        self.clusters: dict[str, SimulatedCluster] = {}
        self.wires: dict[str, Wire] = {}
        self._detours: dict[str, Transport] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._control_plane: asyncio.Task[None] | None = None

    @property
    def host(self) -> Client:
        return self.clients["host"]

    async def start(self, members: tuple[str, ...]) -> None:
        await self._open("host")
        await prepare_host(self.host)
        if self._forms:
            await serve_federated_types(self.host, self._forms)
        for index, name in enumerate(members):
            await self.add_member(name, index)
        self.start_control_plane()
        for name in members:
            await self.until(lambda name=name: self.cluster_is(name, "Ready"))  # type: ignore[misc]

    async def add_member(self, name: str, index: int, provider: Provider = Provider.IP, **labels: str) -> None:
        await self._open(name)
        settings = ClusterSettings(name=name, index=index, region=name, zones=(f"{name}-a",), load_balancers=provider)
        client = Client(self.servers[name].connect(ADMINISTRATOR), self.runtime, manager=SIMULATOR)
        self.clusters[name] = SimulatedCluster(client, settings, self.runtime)
        self._tasks.append(asyncio.create_task(self.clusters[name].run()))
        await self.clusters[name].ready()
        await self.enrol(name, labels)

    async def enrol(self, name: str, labels: dict[str, str]) -> None:
        """Make a cluster a member."""
        await join(self.host, joining_manifests(name, Endpoint(f"https://{name}"), labels))

    async def _open(self, name: str) -> None:
        self.servers[name] = await ApiServer.open(name=name, storage=MemoryStorage(), runtime=self.runtime)
        self.clients[name] = Client(self.servers[name].connect(ADMINISTRATOR), self.runtime, manager="kubectl")

    def start_control_plane(self) -> None:
        host = Client(self._wire("host"), self.runtime)
        self._control_plane = asyncio.create_task(
            run_control_plane(
                host,
                connect=lambda endpoint: self._wire(endpoint.server.removeprefix("https://")),
                federated_types=bool(self._forms),
            )
        )

    def _wire(self, name: str) -> Wire:
        """The control plane's way to a server; what was done to it outlives reconnections."""
        remote = self._detours.get(name) or self.servers[name].connect(ADMINISTRATOR, as_remote=True)
        wire = self.wires.get(name)
        if wire is None:
            wire = self.wires[name] = Wire(remote, self.runtime)
        else:
            wire.inner = remote
        return wire

    def lead_through(self, name: str, transport: Transport) -> None:
        """Have the next control plane reach a server by another way."""
        self._detours[name] = transport

    async def kill_control_plane(self) -> None:
        """End it between two requests; nothing in it can clean up after itself that was not written."""
        if self._control_plane is not None:
            self._control_plane.cancel()
            await asyncio.gather(self._control_plane, return_exceptions=True)

    async def fail(self, name: str) -> None:
        note_fault("down")
        self.clusters[name].fail()
        await self.servers[name].stop_serving()

    def heal(self, name: str) -> None:
        self.servers[name].resume()
        self.clusters[name].heal()

    async def close(self) -> None:
        await self.kill_control_plane()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in self.servers.values():
            await server.close()

    # What tests ask

    async def until(self, holds: Callable[[], object], seconds: float = 60.0) -> float:
        """Wait for a condition (a coroutine function or a plain one); returns how long it took."""
        start = self.runtime.monotonic()
        while True:
            found = holds()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return self.runtime.monotonic() - start
            if self.runtime.monotonic() - start > seconds:
                raise AssertionError(f"not within {seconds} s of virtual time: {found!r}")
            await self.pass_time()

    async def pass_time(self) -> None:
        """Let a moment pass between two looks."""
        await self.runtime.sleep(0.1)

    async def cluster_is(self, name: str, condition: str) -> bool:
        obj = await self.host.find(CLUSTERS, name)
        return is_true(dig(obj, "status", "conditions"), condition)

    async def find(self, cluster: str, resource: Resource, name: str, namespace: str = "default") -> Obj | None:
        try:
            return await self.clients[cluster].get(resource, name, namespace)
        except NotFound:
            return None

    async def spread(self, name: str = "web") -> dict[str, int]:
        """Replicas by cluster, of those whose replicas are all available."""
        found = {cluster: await self.find(cluster, DEPLOYMENTS, name) for cluster in self.clusters}
        return {
            cluster: obj["spec"]["replicas"]
            for cluster, obj in found.items()
            if obj is not None
            and dig(obj, "status", "availableReplicas", default=0) == obj["spec"]["replicas"]
            and dig(obj, "status", "observedGeneration", default=0) == obj["metadata"]["generation"]
        }

    async def available(self, *clusters: str, name: str = "web") -> int:
        found = [await self.find(cluster, DEPLOYMENTS, name) for cluster in clusters or self.clusters]
        return sum(dig(obj, "status", "availableReplicas", default=0) for obj in found)

    async def managed(self, cluster: str, resource: Resource) -> list[str]:
        listed = await self.clients[cluster].list(resource, labels=f"{MANAGED_LABEL}=true")
        return [obj["metadata"]["name"] for obj in listed.items]

    def forget_writes(self) -> None:
        for wire in self.wires.values():
            wire.writes.clear()

    def writes(self) -> dict[str, list[tuple[str, str]]]:
        return {name: list(wire.writes) for name, wire in self.wires.items() if wire.writes}


@asynccontextmanager
async def federation(*members: str, seed: int = 0, forms: tuple[Form, ...] = ()) -> AsyncIterator[World]:
    """Run a federation for the length of a block, which serves federated types in these forms of KubeFed."""
    world = World(SeededRuntime(seed), forms=forms)
    try:
        await world.start(members or ("a", "b", "c"))
        yield world
    finally:
        await world.close()


def deployment(name: str = "web", replicas: int = 9, image: str = "web:1", **annotations: str) -> Obj:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }


def config(name: str = "settings", namespace: str = "default", **data: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data or {"color": "blue"},
    }
