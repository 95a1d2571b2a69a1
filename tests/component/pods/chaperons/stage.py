"""One simulated cluster to which pods are sent, its keeper, and chaperons as sources write them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from hanse.api.admiralty.definitions import POD_CHAPERON_CRD
from hanse.api.admiralty.keys import (
    CHAPERON_FINALIZER,
    MAKER,
    PARENT_CLUSTER,
    PARENT_NAME,
    PARENT_NAMESPACE,
    PARENT_UID,
)
from hanse.api.admiralty.kinds import POD_CHAPERONS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import Obj
from hanse.kube.resources import CRDS, NAMESPACES, PODS
from hanse.kube.runtime import SeededRuntime
from hanse.pods.chaperons.keeper import ChaperonKeeper
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.settings import ClusterSettings
from tests.component.pods.wire import ADMINISTRATOR, Wire


class Stage:
    """A target: people's client, the keeper's wire, and the keeper, which can be killed and started."""

    def __init__(self, server: ApiServer, runtime: SeededRuntime) -> None:
        self.server = server
        self.runtime = runtime
        self.client = Client(server.connect(ADMINISTRATOR), runtime, manager="kubectl")
        self.wire = Wire(server.connect(ADMINISTRATOR, as_remote=True))
        machines = Client(server.connect(ADMINISTRATOR), runtime, manager=SIMULATOR)
        settings = ClusterSettings(name="target", region="eu", zones=("a",), nodes=1)
        self.cluster = SimulatedCluster(machines, settings, runtime)
        self._keeper: asyncio.Task[None] | None = None
        self.word = ""

    def start(self, *, inside: bool = False) -> None:
        keeper = ChaperonKeeper(Client(self.wire, self.runtime), inside=inside)
        self.word = keeper.word
        self._keeper = asyncio.create_task(keeper.run())

    async def kill(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
            self._keeper = None

    async def define(self) -> None:
        await self.client.create(CRDS, POD_CHAPERON_CRD)
        system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}
        await self.client.create(NAMESPACES, system)

    async def send(self, chaperon: Obj) -> Obj:
        return await self.client.create(POD_CHAPERONS, chaperon)

    async def chaperon(self, name: str = "web-abcde") -> Obj | None:
        return await self.client.find(POD_CHAPERONS, name, "default")

    async def pod(self, name: str = "web-abcde") -> Obj | None:
        return await self.client.find(PODS, name, "default")

    async def fence(self, name: str = "web-abcde") -> Obj:
        found = await self.chaperon(name)
        return ((found or {}).get("status") or {}).get("fence") or {}

    async def until(self, holds: Callable[[], Any], seconds: float = 30.0) -> Any:
        """Wait until something holds, a coroutine function; returns what it gave."""
        start = self.runtime.monotonic()
        while not (found := await holds()):
            assert self.runtime.monotonic() - start < seconds, f"not within {seconds} s of virtual time"
            await self.runtime.sleep(0.1 if self.runtime.monotonic() - start < 3.0 else 1.0)
        return found

    async def until_phase(self, phase: str, name: str = "web-abcde", seconds: float = 30.0) -> Obj:
        async def reached() -> Obj | None:
            fence = await self.fence(name)
            return fence if fence.get("phase") == phase else None

        found: Obj = await self.until(reached, seconds)
        return found

    async def until_gone(self, name: str = "web-abcde", seconds: float = 60.0) -> None:
        async def gone() -> bool:
            return await self.chaperon(name) is None

        await self.until(gone, seconds)


@asynccontextmanager
async def stage(*, keeper: bool = True, inside: bool = False) -> AsyncIterator[Stage]:
    """Run a target for the length of a block."""
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="target", storage=MemoryStorage(), runtime=runtime)
    made = Stage(server, runtime)
    running = asyncio.create_task(made.cluster.run())
    try:
        await made.cluster.ready()
        await made.define()
        if keeper:
            made.start(inside=inside)
        yield made
    finally:
        await made.kill()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await server.close()


def made_by(word: str, **spec: Any) -> Obj:
    """Return a chaperon that says from the beginning whose word makes its pod."""
    made = chaperon(**spec)
    made["metadata"]["annotations"][MAKER] = word
    return made


def chaperon(name: str = "web-abcde", *, attempt: int = 1, **spec: Any) -> Obj:
    """Return a chaperon as a source writes it."""
    return {
        "apiVersion": POD_CHAPERONS.api_version,
        "kind": POD_CHAPERONS.kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": "web", PARENT_UID: "uid-1", PARENT_CLUSTER: "home"},
            "annotations": {"team": "blue", PARENT_NAMESPACE: "default", PARENT_NAME: "web"},
            "finalizers": [CHAPERON_FINALIZER],
        },
        "spec": {"containers": [{"name": "main", "image": "web:1"}], **spec},
        "fence": {"attempt": attempt},
    }


def by_hand(name: str = "web-abcde", **spec: Any) -> Obj:
    """Return a chaperon as somebody might write it who knows nothing of fences."""
    made = chaperon(name, **spec)
    del made["fence"]
    made["metadata"] = {"name": name, "namespace": "default"}
    return made
