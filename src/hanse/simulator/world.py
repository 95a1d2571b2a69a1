"""What all behaviours of one simulated cluster share: its client, its settings and one cache for each kind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.errors import ServerError
from hanse.kube.log import Log
from hanse.kube.manifest import Key
from hanse.kube.resources import PODS, Resource
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Unreachable
from hanse.simulator.faults.node_troubles import NodeTroubles
from hanse.simulator.pods import PodIndex
from hanse.simulator.settings import ClusterSettings

# Nothing waits for less: a moment that is due but for the rounding of clocks counts as due.
SHORTEST_WAIT_SECONDS = 0.001
_AWAY_SECONDS = (0.5, 1.5)
log = Log("hanse")


class Behaviour(Protocol):
    """One thing that a cluster does: a controller over the keys it cares about."""

    @property
    def controller(self) -> Controller[Key]: ...


Reconcile = Callable[[Key], Awaitable[float | None]]


class World:
    """One cluster as its behaviours see it."""

    def __init__(
        self,
        client: Client,
        settings: ClusterSettings,
        runtime: Runtime,
        troubles: NodeTroubles | None = None,
        *,
        kubelet_port: int = 0,
    ) -> None:
        self.client = client
        self.troubles = troubles or NodeTroubles()
        self.settings = settings
        self.kubelet_port = kubelet_port
        self.runtime = runtime
        self._caches: dict[Resource, Cache] = {}
        self.pods = PodIndex(self.cache(PODS))

    def controller(
        self, name: str, reconcile: Reconcile, *, workers: int = 8, owners: Resource | None = None
    ) -> Controller[Key]:
        """Return a controller that asks a server which is away again soon, however long it has been away.

        A growing pause would keep the machines of a cluster from coming back with its API server, and they have
        nothing else to do meanwhile. One that makes things for `owners` rests while it does not hear of them: it would
        go on making them for an owner that is gone, as fast as they are collected.
        """

        async def patient(key: Key) -> float | None:
            if owners is not None and not self.cache(owners).connected:
                return self.runtime.uniform(*_AWAY_SECONDS)
            try:
                return await reconcile(key)
            except (Unreachable, ServerError) as error:
                pause = self.runtime.uniform(*_AWAY_SECONDS)
                log.debug("Will ask again", controller=name, key=str(key), error=str(error), seconds=round(pause, 2))
                return pause

        return Controller(name, patient, self.runtime, workers=workers)

    def cache(self, resource: Resource) -> Cache:
        """Return the cluster's cache of a kind; asking for it makes it part of what runs."""
        if resource not in self._caches:
            self._caches[resource] = Cache(self.client, resource)
        return self._caches[resource]

    def start_caches(self, tasks: asyncio.TaskGroup) -> None:
        """Have every cache follow the server."""
        for cache in self._caches.values():
            tasks.create_task(cache.run())

    async def wait_synced(self) -> None:
        """Wait until every cache has seen a complete list."""
        for cache in self._caches.values():
            await cache.wait_synced()
