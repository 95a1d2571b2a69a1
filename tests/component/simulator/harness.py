"""A simulated cluster on the embedded API server, in one process, and ways to ask and to wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from hanse.apiserver import ApiServer, CertificateAuthority, Identity, MemoryStorage
from hanse.apiserver.credentials import kubeconfig_cluster, kubeconfig_user
from hanse.kube import Client, Obj, Resource, Runtime, SeededRuntime, Unreachable
from hanse.kube.cache import Cache, Change
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Key, labels_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, PODS, REPLICASETS
from hanse.kube.transport import Request, Response, Stream, Transport
from hanse.simulator import ClusterSettings, SimulatedCluster
from hanse.simulator.pods import pod_facts

NAMESPACE = "default"
ADMIN = Identity("system:admin", groups=("system:masters",))


class World:
    """One embedded API server and whatever runs on it."""

    def __init__(self, server: ApiServer, runtime: Runtime) -> None:
        self.server = server
        self.runtime = runtime
        self.client = Client(server.connect(ADMIN), runtime)

    def cluster(
        self,
        *,
        wrap: Callable[[Transport], Transport] = lambda transport: transport,
        as_remote: bool = False,
        **settings: Any,
    ) -> SimulatedCluster:
        """Make a simulated cluster that talks to the server by a way of its own."""
        transport = wrap(self.server.connect(ADMIN, as_remote=as_remote))
        client = Client(transport, self.runtime, manager="hanse-simulator")
        chosen = ClusterSettings(**{"name": "us-east", "region": "us", "zones": ("us-a", "us-b"), **settings})
        return SimulatedCluster(client, chosen, self.runtime)

    async def until(
        self,
        resource: Resource,
        name: str,
        holds: Callable[[Obj], Any],
        *,
        seconds: float = 30.0,
        namespace: str = NAMESPACE,
    ) -> Obj:
        """Wait until an object is there and something holds of it; return it."""
        async with asyncio.timeout(seconds):
            listed = await self.client.list(resource, namespace)
            for obj in listed.items:
                if obj["metadata"]["name"] == name and holds(obj):
                    return obj
            events = self.client.watch(
                resource, namespace, version=listed.resource_version, timeout_seconds=int(seconds) + 60
            )
            async with aclosing(events):
                async for event in events:
                    obj = event.object
                    if event.type in ("ADDED", "MODIFIED") and obj["metadata"]["name"] == name and holds(obj):
                        return obj
        raise AssertionError(f"the watch ended before {name} was as awaited")

    async def until_gone(self, resource: Resource, *, seconds: float = 30.0) -> None:
        """Wait until no object of a kind is left."""
        async with asyncio.timeout(seconds):
            while (await self.client.list(resource, NAMESPACE)).items:
                await self.runtime.sleep(0.1)

    async def pods(self) -> list[Obj]:
        """Return the pods that are not on their way out."""
        listed = await self.client.list(PODS, NAMESPACE)
        return [pod for pod in listed.items if not pod["metadata"].get("deletionTimestamp")]

    async def replica_sets(self) -> dict[str, Obj]:
        """Return the ReplicaSets by revision."""
        found = (await self.client.list(REPLICASETS, NAMESPACE)).items
        return {entry["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: entry for entry in found}

    async def available(self, count: int, *, name: str = "web", seconds: float = 30.0) -> Obj:
        """Wait until a Deployment is rolled out with so many replicas."""
        return await self.until(DEPLOYMENTS, name, lambda obj: rolled_out(obj, count), seconds=seconds)


def condition_of(obj: Obj, kind: str) -> Obj:
    """Return a condition of an object's status; empty where it has none of that type."""
    return find_condition((obj.get("status") or {}).get("conditions"), kind) or {}


def rolled_out(deployment: Obj, count: int) -> bool:
    """Judge as `kubectl rollout status` does."""
    status = deployment.get("status") or {}
    counts = (status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas"))
    seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    return bool(seen and deployment["spec"]["replicas"] == count and all(found == count for found in counts))


def deployment(
    replicas: int, *, name: str = "web", image: str = "nginx:1", pod: Mapping[str, Any] | None = None, **spec: Any
) -> Obj:
    """Make a Deployment of one container."""
    container = {"name": name, "image": image, **(pod or {}).get("container", {})}
    extra = {key: value for key, value in (pod or {}).items() if key != "container"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **extra}},
            **spec,
        },
    }


@asynccontextmanager
async def running(cluster: SimulatedCluster) -> AsyncIterator[SimulatedCluster]:
    """Run a cluster for the length of a block; it ends as abruptly as a killed process."""
    task = asyncio.ensure_future(cluster.run())
    ready = asyncio.ensure_future(cluster.ready())
    try:
        await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        yield cluster
    finally:
        ready.cancel()
        task.cancel()
        await asyncio.gather(task, ready, return_exceptions=True)


@asynccontextmanager
async def world(*, seed: int = 0, runtime: Runtime | None = None) -> AsyncIterator[World]:
    """Open an embedded API server in memory."""
    chosen = runtime or SeededRuntime(seed)
    server = await ApiServer.open(name="us-east", storage=MemoryStorage(), runtime=chosen)
    try:
        yield World(server, chosen)
    finally:
        await server.close()


def write_kubeconfig(path: Path, server: ApiServer, authority: CertificateAuthority) -> Path:
    """Write how to reach a served API server as its administrator."""
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "us-east",
                "clusters": [{"name": "us-east", "cluster": kubeconfig_cluster(server.url, authority.certificate_pem)}],
                "users": [{"name": "admin", "user": kubeconfig_user(token=server.token_for(ADMIN))}],
                "contexts": [{"name": "us-east", "context": {"cluster": "us-east", "user": "admin"}}],
            }
        )
    )
    return path


class PodHistory:
    """Follows every change of the pods of one app and keeps the extremes."""

    def __init__(self, world: World, app: str = "web") -> None:
        self._app = app
        self._cache = Cache(world.client, PODS, namespace=NAMESPACE)
        self._pods: dict[Key, Any] = {}
        self.seen: set[str] = set()
        self.most = 0
        self.least_available: int | None = None

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[PodHistory]:
        """Follow for the length of a block."""
        task = asyncio.ensure_future(self._cache.run())
        try:
            await self._cache.wait_synced()
            self._cache.subscribe(self._changed)
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _changed(self, change: Change) -> None:
        self._pods.pop(change.key, None)
        pod = change.new
        if pod is not None and labels_of(pod).get("app") == self._app:
            self.seen.add(uid_of(pod))
            self._pods[change.key] = pod_facts(pod)
        self.most = max(self.most, sum(1 for facts in self._pods.values() if facts.active))
        available = sum(1 for facts in self._pods.values() if facts.active and facts.ready)
        known = self.least_available
        self.least_available = available if known is None or change.old_bytes is None else min(known, available)


class Wire:
    """A transport that counts what passes through it, delays watches, and loses a share of requests and answers."""

    def __init__(self, inner: Transport, runtime: Runtime, *, lag_seconds: float = 0.0, lost: float = 0.0) -> None:
        self._inner = inner
        self._runtime = runtime
        self._lag_seconds = lag_seconds
        self.lost = lost
        self.requests: list[tuple[str, str]] = []

    @property
    def address(self) -> str:
        return self._inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        self.requests.append((request.method, request.path))
        fate = self._runtime.uniform(0.0, 1.0)
        if fate < self.lost / 2:
            raise Unreachable(self.address, "the request was lost")
        answer = await self._inner.send(request, timeout)
        if fate < self.lost:
            raise Unreachable(self.address, "the answer was lost")
        return answer

    async def stream(self, request: Request, timeout: float) -> Stream:
        self.requests.append((request.method, request.path))
        stream = await self._inner.stream(request, timeout)
        return _Lagging(stream, self._runtime, self._lag_seconds) if self._lag_seconds else stream

    async def close(self) -> None:
        await self._inner.close()


class _Lagging:
    def __init__(self, inner: Stream, runtime: Runtime, seconds: float) -> None:
        self._inner = inner
        self._runtime = runtime
        self._seconds = seconds

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner.chunks():
            await self._runtime.sleep(self._seconds)
            yield chunk

    async def close(self) -> None:
        await self._inner.close()
