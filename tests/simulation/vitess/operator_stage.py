"""One cluster on virtual time with the operator of planetscale.com/v2 at work in it, and a topology in memory."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from hanse.api.planetscale.definitions import PLANETSCALE_CRDS, PRIORITY_CLASSES, VITESS_PRIORITY_CLASS
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, name_of
from hanse.kube.resources import CRDS, EVENTS, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.settings import ClusterSettings
from hanse.vitess.operator.running import VitessOperator
from tests.simulation.vitess.tablet_world import TabletWorld
from tests.simulation.world import ADMINISTRATOR, Wire


class OperatorStage:
    """An embedded API server, the simulated cluster behind it, and an operator that can be killed."""

    def __init__(self, runtime: SeededRuntime, *, tablets: bool) -> None:
        self.runtime = runtime
        self.world = TabletWorld(runtime) if tablets else None
        self._tasks: list[asyncio.Task[None]] = []
        self._operating: asyncio.Task[None] | None = None

    async def start(self, *, nodes: bool) -> None:
        self.server = await ApiServer.open(name="home", storage=MemoryStorage(), runtime=self.runtime)
        self.client = Client(self.server.connect(ADMINISTRATOR), self.runtime, manager="kubectl")
        if nodes:
            client = Client(self.server.connect(ADMINISTRATOR), self.runtime, manager=SIMULATOR)
            cluster = SimulatedCluster(client, ClusterSettings(name="home", zones=("home-a",)), self.runtime)
            self._tasks.append(asyncio.create_task(cluster.run()))
            await cluster.ready()
        for crd in PLANETSCALE_CRDS:
            await self.client.create(CRDS, crd)
        await self.client.create(PRIORITY_CLASSES, VITESS_PRIORITY_CLASS)
        self.wire = Wire(self.server.connect(ADMINISTRATOR, as_remote=True), self.runtime)
        if self.world is not None:
            self._tasks.append(asyncio.create_task(self.world.live(self.client)))
        self.operate()

    def operate(self) -> None:
        """Start an operator."""
        stores = None if self.world is None else self.world.stores
        self.operator = VitessOperator(Client(self.wire, self.runtime), stores, caller=self.world)
        self._operating = asyncio.create_task(self.operator.run())

    async def kill(self) -> None:
        """End the operator between two requests."""
        if self._operating is not None:
            self._operating.cancel()
            await asyncio.gather(self._operating, return_exceptions=True)

    async def close(self) -> None:
        await self.kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.server.close()

    async def create(self, obj: Obj) -> Obj:
        return await self.client.create(await self.client.resource_of(obj), obj)

    async def get(self, resource: Resource, name: str) -> Obj:
        return await self.client.get(resource, name, "default")

    async def all(self, resource: Resource, labels: str = "") -> list[Obj]:
        return list((await self.client.list(resource, "default", labels=labels)).items)

    async def names(self, resource: Resource, labels: str = "") -> list[str]:
        return sorted(map(name_of, await self.all(resource, labels)))

    async def patch(self, resource: Resource, name: str, patch: Obj) -> Obj:
        return await self.client.patch(resource, name, patch, "default")

    async def events(self, reason: str) -> list[str]:
        return [event["message"] for event in await self.all(EVENTS) if event["reason"] == reason]

    async def until(self, holds: Callable[[], Any], seconds: float = 120.0) -> Any:
        """Wait for a condition on virtual time, and return what it gave."""
        start = self.runtime.monotonic()
        while True:
            found = holds()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            assert self.runtime.monotonic() - start <= seconds, f"not within {seconds} s of virtual time"
            await self.runtime.sleep(0.5)

    async def settle(self, seconds: float = 5.0) -> None:
        """Let some virtual time pass, in which everything that is due happens."""
        await self.runtime.sleep(seconds)

    async def silent(self, seconds: float = 60.0) -> bool:
        """Tell whether nothing is written any more, though time passes."""
        await self.settle()
        self.wire.writes.clear()
        await self.settle(seconds)
        return self.wire.writes == []


@asynccontextmanager
async def operator_stage(*, nodes: bool = True, tablets: bool = False, seed: int = 0) -> AsyncIterator[OperatorStage]:
    """Have the operator at work for the length of a block; with `nodes`, pods run, and with `tablets`, those do."""
    on = OperatorStage(SeededRuntime(seed), tablets=tablets)
    try:
        await on.start(nodes=nodes)
        yield on
    finally:
        await on.close()
