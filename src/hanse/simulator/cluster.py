"""A simulated cluster: everything that makes an API server behave, composed, started, broken and mended.

A run is a sequence of lives. Each life begins with nothing but what the API server holds, so mending a failed cluster,
starting again after a crash and starting for the first time are the same thing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from hanse.kube.client import Client
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Key
from hanse.kube.resources import PODS
from hanse.kube.runtime import Runtime
from hanse.simulator.networking.endpoints import ServiceEndpoints
from hanse.simulator.networking.load_balancers import LoadBalancers
from hanse.simulator.nodes.kubelet import Kubelets
from hanse.simulator.nodes.logs import pod_log
from hanse.simulator.nodes.registration import Nodes
from hanse.simulator.nodes.scheduler import Scheduler
from hanse.simulator.settings import ClusterSettings
from hanse.simulator.workloads.deployments import Deployments
from hanse.simulator.workloads.replicasets import ReplicaSets
from hanse.simulator.world import Behaviour, World

# The field manager of all that a simulated cluster writes, so that nobody else's fields are taken for its own.
SIMULATOR = "hanse-simulator"

# What kube-controller-manager and kube-scheduler do where they run.
_CONTROL_PLANE: tuple[type[Deployments | ReplicaSets | Scheduler | ServiceEndpoints], ...] = (
    Deployments,
    ReplicaSets,
    Scheduler,
    ServiceEndpoints,
)


class SimulatedCluster:
    """One API server made to behave like a cluster.

    With `nodes_only` it has nodes, kubelets and load balancers alone, for an API server beside which the Kubernetes
    controllers and scheduler run.
    """

    def __init__(
        self, client: Client, settings: ClusterSettings, runtime: Runtime, *, nodes_only: bool = False
    ) -> None:
        self.settings = settings
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
            self._life = _Life(World(self._client, self.settings, self._runtime), nodes_only=self._nodes_only)
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

    async def pod_logs(self, namespace: str, name: str, asked: Mapping[str, str]) -> bytes:
        """Return what a pod's container printed; what an API server asks of a kubelet."""
        pod = await self._client.get(PODS, name, namespace)
        return pod_log(pod, asked, cluster=self.settings.name)

    async def crash_pod(self, namespace: str, name: str) -> None:
        """Have a running pod's containers exit with an error; raises NotFound where there is no such pod."""
        if self._life is None:
            raise NotFound(404, "NotFound", f'pods "{name}" not found: cluster {self.settings.name} is down')
        await self._life.kubelets.crash(Key(namespace, name))


class _Life:
    """The behaviours of a cluster from one start to the next failure."""

    def __init__(self, world: World, *, nodes_only: bool) -> None:
        self._world = world
        self.nodes = Nodes(world, lifts_taints=not nodes_only)
        self.kubelets = Kubelets(world)
        self._load_balancers = LoadBalancers(world)
        self._behaviours: list[Behaviour] = [self.nodes, self.kubelets, self._load_balancers]
        if not nodes_only:
            self._behaviours += [behaviour(world) for behaviour in _CONTROL_PLANE]

    async def run(self, ready: asyncio.Event) -> None:
        """Follow the server, then let every behaviour work; `ready` is set once the nodes are there."""
        async with asyncio.TaskGroup() as tasks:
            self._world.start_caches(tasks)
            await self._world.wait_synced()
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
