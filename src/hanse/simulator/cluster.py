"""A simulated cluster: everything that makes an API server behave, composed, started, broken and mended.

A run is a sequence of lives. Each life begins with nothing but what the API server holds, so mending a failed cluster,
starting again after a crash and starting for the first time are the same thing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from typing import Any

from hanse.apiserver import ApiServer
from hanse.apiserver.pod_doors import PodSession
from hanse.kube.client import Client
from hanse.kube.errors import NotFound, ServerError
from hanse.kube.manifest import Key, Obj, dig
from hanse.kube.resources import PODS
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Request, Response
from hanse.simulator.faults.node_troubles import NodeTroubles
from hanse.simulator.metrics.readings import NODE_METRICS, POD_METRICS, Readings
from hanse.simulator.networking.endpoints import ServiceEndpoints
from hanse.simulator.networking.gateways import Gateways
from hanse.simulator.networking.ingresses import Ingresses
from hanse.simulator.networking.load_balancers import LoadBalancers
from hanse.simulator.networking.mirroring import EndpointMirrors
from hanse.simulator.nodes.containers import known
from hanse.simulator.nodes.eviction import TaintEviction
from hanse.simulator.nodes.kubelet import Kubelets
from hanse.simulator.nodes.lifecycle import NodeLifecycle
from hanse.simulator.nodes.logs import follow_log, pod_log
from hanse.simulator.nodes.pod_status import is_running
from hanse.simulator.nodes.registration import Nodes
from hanse.simulator.nodes.shell import Shell
from hanse.simulator.scheduling.scheduler import Scheduler
from hanse.simulator.settings import ClusterSettings
from hanse.simulator.volumes.binder import VolumeBinder
from hanse.simulator.volumes.provisioner import Provisioner
from hanse.simulator.workloads.controllers import WORKLOADS
from hanse.simulator.world import Behaviour, World

# The field manager of all that a simulated cluster writes, so that nobody else's fields are taken for its own.
SIMULATOR = "hanse-simulator"

# What kube-controller-manager and kube-scheduler do where they run.
_CONTROL_PLANE: tuple[Callable[[World], Behaviour], ...] = (
    *WORKLOADS,
    Scheduler,
    NodeLifecycle,
    TaintEviction,
    ServiceEndpoints,
    EndpointMirrors,
    VolumeBinder,
)

# What a cloud provider and its drivers do for any cluster.
_PROVIDER: tuple[Callable[[World], Behaviour], ...] = (Provisioner, Ingresses, Gateways)


class SimulatedCluster:
    """One API server made to behave like a cluster.

    With `nodes_only` it has nodes, kubelets and load balancers alone, for an API server beside which the Kubernetes
    controllers and scheduler run.
    """

    def __init__(
        self, client: Client, settings: ClusterSettings, runtime: Runtime, *, nodes_only: bool = False
    ) -> None:
        self.settings = settings
        self.troubles = NodeTroubles()
        # Where the API server reaches all kubelets, on loopback; 0 where it cannot.
        self.kubelet_port = 0
        self._client = client
        self._runtime = runtime
        self._nodes_only = nodes_only
        self._healthy = asyncio.Event()
        self._healthy.set()
        self._failed = asyncio.Event()
        self._ready = asyncio.Event()
        self._life: _Life | None = None

    @property
    def failed(self) -> bool:
        """Whether the cluster is broken at this moment."""
        return not self._healthy.is_set()

    async def run(self) -> None:
        """Live until cancelled, through failures and mendings."""
        while True:
            await self._healthy.wait()
            world = World(self._client, self.settings, self._runtime, self.troubles, kubelet_port=self.kubelet_port)
            self._life = _Life(world, nodes_only=self._nodes_only)
            try:
                await _until(self._life.run(self._ready), self._failed)
            finally:
                self._ready.clear()
                self._life.end()
                self._life = None

    async def ready(self) -> None:
        """Wait until every node is registered and ready and every controller works."""
        await self._ready.wait()

    def fail(self) -> None:
        """Break the cluster: heartbeats, kubelets and controllers stop, listeners close; the API's state stays."""
        self._healthy.clear()
        self._ready.clear()
        self._failed.set()

    def heal(self) -> None:
        """Mend the cluster: it goes on from what the API server holds."""
        self._failed.clear()
        self._healthy.set()

    def serve_through(self, server: ApiServer) -> None:
        """Have an embedded API server ask this cluster for what happens in its pods, and for metrics.k8s.io.

        What runs here is what its quotas limit, so they are counted from now on.
        """
        server.count_quotas()
        server.pods.logs = self.pod_logs
        server.pods.exec = self.run_in_pod
        server.pods.http = self.pod_page
        server.compute(POD_METRICS, self.pod_metrics)
        server.compute(NODE_METRICS, self.node_metrics)

    async def pod_logs(self, namespace: str, name: str, asked: Mapping[str, str]) -> bytes | AsyncIterator[bytes]:
        """Return what a pod's container printed, piece by piece where it is followed."""
        pod = await self._client.get(PODS, name, namespace)
        text = pod_log(pod, asked, cluster=self.settings.name, now=self._runtime.now())
        if asked.get("follow") != "true" or self._life is None:
            return text
        pods = self._life.world.pods.cache
        return follow_log(
            lambda: pods.get(Key(namespace, name)), asked, cluster=self.settings.name, runtime=self._runtime
        )

    async def run_in_pod(self, session: PodSession) -> int:
        """Run a command in a container, as `kubectl exec` asks for it, and return its exit code."""
        pod = await self._client.get(PODS, session.pod, session.namespace)
        if "running" not in (known(pod, session.container).get("state") or {}):
            await session.write_error(f"container {session.container} is not running\n".encode())
            return 1
        shell = Shell(pod, session.container, now=self._runtime.now, sleep=self._runtime.sleep)
        return await shell.run(session.command, session)

    async def pod_page(self, namespace: str, name: str, port: str, request: Request) -> Response:
        """Answer an HTTP request to a pod with a page that says which one it is; raises OSError where none runs."""
        pod = await self._client.get(PODS, name, namespace)
        if self._life is None or not is_running(pod):
            raise ConnectionRefusedError(f"pod {name} does not listen")
        lines = [f"cluster: {self.settings.name}", f"node: {pod['spec']['nodeName']}", f"pod: {name}"]
        lines += [f"namespace: {namespace}", f"port: {port}", f"path: {request.path}"]
        return Response(200, {"content-type": "text/plain; charset=utf-8"}, ("\n".join(lines) + "\n").encode())

    def pod_at(self, address: str) -> Key | None:
        """Return the pod that has an address; None where it is nobody's."""
        if self._life is None:
            return None
        pods = self._life.world.pods.cache
        return next((key for key in pods if dig(pods.get(key), "status", "podIP") == address), None)

    def pod_metrics(self, namespace: str) -> Iterable[Obj]:
        """Return what the pods of a namespace use, as metrics.k8s.io tells it; raises ServerError while it is down."""
        return self._living().readings.pods(namespace)

    def node_metrics(self, namespace: str) -> Iterable[Obj]:
        """Return what all nodes use, as metrics.k8s.io tells it; raises ServerError while the cluster is down."""
        return self._living().readings.nodes(namespace)

    def _living(self) -> _Life:
        if self._life is None or not self._ready.is_set():
            raise ServerError(503, "ServiceUnavailable", f"the nodes of cluster {self.settings.name} are down")
        return self._life

    async def crash_pod(self, namespace: str, name: str) -> None:
        """Have a running pod's containers exit with an error; raises NotFound where there is no such pod."""
        if self._life is None:
            raise NotFound(404, "NotFound", f'pods "{name}" not found: cluster {self.settings.name} is down')
        await self._life.kubelets.crash(Key(namespace, name))


class _Life:
    """The behaviours of a cluster from one start to the next failure."""

    def __init__(self, world: World, *, nodes_only: bool) -> None:
        self.world = world
        self.nodes = Nodes(world, lifts_taints=not nodes_only)
        self.kubelets = Kubelets(world)
        self.readings = Readings(world)
        self._load_balancers = LoadBalancers(world)
        self._behaviours: list[Behaviour] = [self.nodes, self.kubelets, self._load_balancers]
        self._behaviours += [behaviour(world) for behaviour in _PROVIDER]
        if not nodes_only:
            self._behaviours += [behaviour(world) for behaviour in _CONTROL_PLANE]

    async def run(self, ready: asyncio.Event) -> None:
        """Follow the server, then let every behaviour work; `ready` is set once the nodes are there."""
        async with asyncio.TaskGroup() as tasks:
            self.world.start_caches(tasks)
            await self.world.wait_synced()
            for behaviour in self._behaviours:
                tasks.create_task(behaviour.controller.run())
            await self.nodes.wait_registered()
            ready.set()

    def end(self) -> None:
        """Close what outlives the tasks."""
        self._load_balancers.listeners.close_all()


async def _until(life: Coroutine[Any, Any, None], failed: asyncio.Event) -> None:
    """Run until the event is set; whatever the coroutine raises is raised here."""
    living = asyncio.ensure_future(life)
    failing = asyncio.ensure_future(failed.wait())
    try:
        await asyncio.wait({living, failing}, return_when=asyncio.FIRST_COMPLETED)
        if living.done():
            living.result()
    finally:
        failing.cancel()
        living.cancel()
        await asyncio.gather(living, failing, return_exceptions=True)
