"""Checkers of an embedded federation: one for each simulated cluster, which falls silent while its cluster is down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hanse.api.health_reports import cluster_checker
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.transport import Request, Response, Stream, Transport, Unreachable
from hanse.services.health.checker import Checker
from hanse.services.health.prober import NetworkProber

# Many checkers share this process, and what they probe is on this machine.
_WIDTH = 32


class FromCluster:
    """The way from a cluster to the host: there is none while the cluster is down."""

    def __init__(self, inner: Transport, is_down: Callable[[], bool]) -> None:
        self._inner = inner
        self._is_down = is_down

    @property
    def address(self) -> str:
        """Where the host is."""
        return self._inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        """Send, unless the cluster is down."""
        self._check()
        return await self._inner.send(request, timeout)

    async def stream(self, request: Request, timeout: float) -> Stream:
        """Begin to listen, unless the cluster is down."""
        self._check()
        return await self._inner.stream(request, timeout)

    async def close(self) -> None:
        """Leave the way to whoever opened it."""

    def _check(self) -> None:
        if self._is_down():
            raise Unreachable(self.address, "the cluster of this checker is down")


async def run_checkers(host: Client, clusters: dict[str, Callable[[], bool]]) -> None:
    """Probe from every cluster as soon as there is anything to probe; `clusters` tells of each whether it is down."""
    needed = asyncio.Event()
    services = Cache(host, SERVICE_ADDRESSES, metadata_only=True)
    services.subscribe(lambda _change: needed.set())
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(services.run())
        await needed.wait()
        following.cancel()
        for name, is_down in clusters.items():
            client = Client(FromCluster(host.transport, is_down), host.runtime)
            tasks.create_task(Checker(client, cluster_checker(name), NetworkProber(), width=_WIDTH).run())
