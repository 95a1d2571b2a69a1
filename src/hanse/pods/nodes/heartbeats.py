"""The signs of life of virtual nodes: a Lease each, renewed every ten seconds, good for forty."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from hanse.kube.client import Client
from hanse.kube.errors import AlreadyExists, ApiError, NotFound
from hanse.kube.log import Log
from hanse.kube.manifest import Obj, name_of, uid_of
from hanse.kube.resources import LEASES, NODES
from hanse.kube.runtime import micro_timestamp
from hanse.kube.transport import Unreachable

LEASE_NAMESPACE = "kube-node-lease"
RENEW_SECONDS = 10.0
LEASE_SECONDS = 40
_AT_ONCE = 8

log = Log("hanse")


class Heartbeats:
    """Renews the Leases of the nodes that a function tells; a new node gets its own at once."""

    def __init__(self, client: Client, nodes: Callable[[], Sequence[Obj]]) -> None:
        self._client = client
        self._runtime = client.runtime
        self._nodes = nodes
        self._beaten: set[str] = set()
        self._wake = asyncio.Event()

    def meet(self, node: Obj) -> None:
        """Give a node its Lease at once, if it is new."""
        if uid_of(node) not in self._beaten:
            self._wake.set()

    async def run(self) -> None:
        """Renew until cancelled."""
        due = self._runtime.monotonic()
        while True:
            now = self._runtime.monotonic()
            nodes = list(self._nodes())
            fresh = [node for node in nodes if uid_of(node) not in self._beaten]
            if now >= due:
                due = now + RENEW_SECONDS
                self._beaten &= {uid_of(node) for node in nodes}
                fresh = nodes
            await self._renew_all(fresh)
            await self._pause(due - self._runtime.monotonic())

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _renew_all(self, nodes: Sequence[Obj]) -> None:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def renew(node: Obj) -> None:
            async with slots:
                await self._renew(node)

        async with asyncio.TaskGroup() as tasks:
            for node in nodes:
                tasks.create_task(renew(node))

    async def _renew(self, node: Obj) -> None:
        renewal = {"spec": {"renewTime": micro_timestamp(self._runtime.now())}}
        try:
            try:
                await self._client.patch(LEASES, name_of(node), renewal, LEASE_NAMESPACE)
            except NotFound:
                await self._client.create(LEASES, self._lease(node))
        except AlreadyExists:
            return
        except (ApiError, Unreachable, TimeoutError) as error:
            # The next turn tries again, and the Lease is good for several turns.
            log.warning("A virtual node's Lease was not renewed", node=name_of(node), error=str(error))
            return
        self._beaten.add(uid_of(node))

    def _lease(self, node: Obj) -> Obj:
        owner = {"apiVersion": NODES.api_version, "kind": NODES.kind, "name": name_of(node), "uid": uid_of(node)}
        return {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": name_of(node), "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": name_of(node),
                "leaseDurationSeconds": LEASE_SECONDS,
                "renewTime": micro_timestamp(self._runtime.now()),
            },
        }
