"""Following a kind over all API servers: each is watched, and asked again only when something has changed there.

Clusters that join meanwhile are followed from then on. A server that cannot be reached is told of once, and again when
it has come back and gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from hanse.api.clusters import CLUSTERS, Cluster, parse_cluster
from hanse.cli.connection import connect_member
from hanse.cli.failures import Misuse
from hanse.cli.output import FEDERATION
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.errors import ApiError
from hanse.kube.kubeconfig import KubeconfigError
from hanse.kube.reflector import Scope
from hanse.kube.resources import Resource
from hanse.kube.transport import Unreachable

T = TypeVar("T")
# Changes that come together are told together.
_GATHERING_SECONDS = 0.2
_AGAIN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Heard(Generic[T]):
    """What one API server answers now; `answer` is None while it does not, and `why` says so."""

    cluster: str
    answer: T | None = None
    why: str = ""


class Followed(Generic[T]):
    """A kind as every API server of a federation has it."""

    def __init__(
        self,
        host: Client,
        resource: Resource,
        scope: Scope,
        question: Callable[[Client], Awaitable[T]],
        tell: Callable[[Heard[T]], None],
        *,
        copies: Resource | None = None,
    ) -> None:
        """`copies` is the kind that members hold, where it is another one than the federation's."""
        self._host = host
        self._resource = resource
        self._copies = copies or resource
        self._scope = scope
        self._question = question
        self._tell = tell
        self._members: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Tell what every server answers, at first and whenever something has changed there, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._server(FEDERATION, self._host))
            tasks.create_task(self._clusters(tasks))

    async def _clusters(self, tasks: asyncio.TaskGroup) -> None:
        async with _watched(self._host, CLUSTERS, Scope()) as (cache, changed):
            while True:
                await changed.wait()
                changed.clear()
                if cache.synced:
                    self._follow([parse_cluster(obj) for obj in cache.objects()], tasks)

    def _follow(self, clusters: list[Cluster], tasks: asyncio.TaskGroup) -> None:
        for cluster in clusters:
            if cluster.name not in self._members:
                self._members[cluster.name] = tasks.create_task(self._member(cluster))
        for gone in self._members.keys() - {cluster.name for cluster in clusters}:
            self._members.pop(gone).cancel()

    async def _member(self, cluster: Cluster) -> None:
        while True:
            try:
                member = await connect_member(self._host, cluster)
            except (ApiError, KubeconfigError, Unreachable, Misuse) as error:
                self._tell(Heard(cluster.name, why=str(error)))
                await self._host.runtime.sleep(_AGAIN_SECONDS)
                continue
            try:
                await self._server(cluster.name, member.client)
            finally:
                await member.client.close()

    async def _server(self, cluster: str, client: Client) -> None:
        resource = self._resource if client is self._host else self._copies
        async with _watched(client, resource, self._scope) as (cache, changed):
            while True:
                await changed.wait()
                await client.runtime.sleep(_GATHERING_SECONDS)
                changed.clear()
                self._tell(await self._asked(cluster, client, cache))

    async def _asked(self, cluster: str, client: Client, cache: Cache) -> Heard[T]:
        failure = cache.last_error
        if isinstance(failure, Unreachable):
            return Heard(cluster, why=str(failure))
        try:
            return Heard(cluster, await self._question(client))
        except (ApiError, Unreachable) as error:
            return Heard(cluster, why=str(error))


@asynccontextmanager
async def _watched(client: Client, resource: Resource, scope: Scope) -> AsyncIterator[tuple[Cache, asyncio.Event]]:
    """Watch a kind of one server for the length of a block; the event is set whenever something has changed."""
    cache = Cache(
        client,
        resource,
        namespace=scope.namespace,
        labels=scope.labels,
        fields=scope.fields,
        metadata_only=scope.metadata_only,
    )
    changed = asyncio.Event()
    # A server that cannot be reached from the beginning has nothing that changes.
    changed.set()
    cache.subscribe(lambda _change: changed.set())
    cache.on_connected(lambda _connected: changed.set())
    following = asyncio.create_task(cache.run())
    try:
        yield cache, changed
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
