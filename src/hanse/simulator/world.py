"""What all behaviours of one simulated cluster share: its client, its settings and one cache for each kind."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.controller import Controller
from hanse.kube.resources import PODS, Resource
from hanse.kube.runtime import Runtime
from hanse.simulator.pods import PodIndex
from hanse.simulator.settings import ClusterSettings


class Behaviour(Protocol):
    """One thing that a cluster does: a controller over the keys it cares about."""

    @property
    def controller(self) -> Controller[Any]: ...


class World:
    """One cluster as its behaviours see it."""

    def __init__(self, client: Client, settings: ClusterSettings, runtime: Runtime) -> None:
        self.client = client
        self.settings = settings
        self.runtime = runtime
        self._caches: dict[Resource, Cache] = {}
        self.pods = PodIndex(self.cache(PODS))

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
