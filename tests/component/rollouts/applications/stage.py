"""A host with Shipper's kinds and the controllers of applications and blocks, in one process on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import yaml

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.pieces import PIECE_CRD
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import APPLICATIONS, RELEASES, ROLLOUT_BLOCKS
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.errors import NotFound
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import CRDS, NAMESPACES, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.rollouts.applications import ApplicationController
from hanse.rollouts.blocks import BlockController
from hanse.rollouts.environment import Environment
from hanse.rollouts.shelf import Shelf
from hanse.rollouts.sources.problem import CHART_FETCH_FAILURE, SourceProblem
from tests.behaviour.rollouts import SEED
from tests.simulation.world import Wire

# The control plane goes by an administrator's name, as it does on many hosts.
MASTERS = Identity("admin", ("system:masters",))
PATIENCE_SECONDS = 60.0


class Shelves:
    """A repository of charts that knows ranges only by heart, and can be out of reach."""

    def __init__(self) -> None:
        self.versions = {"0.0.1": "0.0.1", "0.0.2": "0.0.2", "0.0.3": "0.0.3", "~0.0.0": "0.0.1"}
        self.asked = 0
        self.reachable = True

    async def resolve(self, environment: Environment, _namespace: str) -> str:
        self.asked += 1
        assert environment.chart is not None
        if not self.reachable:
            raise SourceProblem(CHART_FETCH_FAILURE, "the repository does not answer", transient=True)
        found = self.versions.get(environment.chart.version)
        if found is None or environment.chart.name != "nginx":
            raise SourceProblem(CHART_FETCH_FAILURE, f"there is no chart {environment.chart.name}")
        return found

    async def render(self, environment: Environment, *, release: str, namespace: str) -> list[Obj]:
        raise NotImplementedError


class Stage:
    """A host that users write to, and the controllers on it."""

    def __init__(self, server: ApiServer, runtime: SeededRuntime) -> None:
        self.server = server
        self.runtime = runtime
        self.user = self.as_user("anna", "system:masters")
        self.wire = Wire(server.connect(MASTERS, as_remote=True), runtime)
        self.sources = Shelves()
        self._tasks: list[asyncio.Task[None]] = []

    def as_user(self, name: str, *groups: str) -> Client:
        return Client(self.server.connect(Identity(name, groups)), self.runtime, manager="kubectl")

    @property
    def hanse(self) -> Client:
        return Client(self.wire, self.runtime)

    async def prepare(self) -> None:
        for crd in (*SHIPPER_CRDS, PIECE_CRD):
            await self.user.apply(CRDS, crd)
        for name in (SYSTEM_NAMESPACE, "rollout-blocks-global"):
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await self.user.create(NAMESPACES, namespace)

    def start(self) -> None:
        host = self.hanse
        shelf = Shelf(host)
        controllers = (shelf, ApplicationController(host, shelf, self.sources), BlockController(host, shelf))
        self._tasks += [asyncio.create_task(each.run()) for each in controllers]

    async def kill(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()

    async def apply_seed(self, version: str = "0.0.1", *, name: str = "super-server", **annotations: str) -> Obj:
        made = yaml.safe_load(SEED)
        made["metadata"] |= {"name": name, "namespace": "default", "annotations": annotations}
        made["spec"]["template"]["chart"]["version"] = version
        return await self.user.apply(APPLICATIONS, made)

    async def application(self, name: str = "super-server") -> Obj:
        return await self.user.get(APPLICATIONS, name, "default")

    async def condition(self, kind: str) -> tuple[str, str, str] | None:
        found = find_condition(dig(await self.application(), "status", "conditions"), kind)
        return None if found is None else (found["status"], found["reason"], found["message"])

    async def history(self) -> list[str]:
        return list(dig(await self.application(), "status", "history", default=[]))

    async def complete(self, name: str) -> None:
        """Say of a release that it was rolled out."""
        found = await self.user.patch(RELEASES, name, {"spec": {"targetStep": 1}}, "default")
        condition = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        await self.user.update(RELEASES, {**found, "status": {"conditions": [condition]}}, subresource="status")

    async def let_go(self, name: str) -> None:
        """Take a release's finalizers away, as the controller of releases does once it may go."""
        with suppress(NotFound):
            await self.user.patch(RELEASES, name, {"metadata": {"finalizers": None}}, "default")

    async def block(self, name: str, namespace: str = "default") -> Obj:
        spec = {"message": "a feast", "author": {"type": "user", "name": "otto"}}
        made = {"apiVersion": ROLLOUT_BLOCKS.api_version, "kind": ROLLOUT_BLOCKS.kind, "spec": spec}
        return await self.user.create(ROLLOUT_BLOCKS, {**made, "metadata": {"name": name, "namespace": namespace}})

    async def annotate(self, resource: Resource, name: str, **annotations: str | None) -> Obj:
        return await self.user.patch(resource, name, {"metadata": {"annotations": annotations}}, "default")

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait until an asynchronous question is answered with yes."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await holds():
                await self.runtime.sleep(0.05)

    async def until_said(self, kind: str, status: str, message: str = "") -> None:
        async def said() -> bool:
            found = await self.condition(kind)
            return found is not None and found[0] == status and message in found[2]

        await self.until(said)

    async def until_history(self, *names: str) -> None:
        async def is_it() -> bool:
            return await self.history() == list(names)

        await self.until(is_it)

    async def rest(self, seconds: float = 5.0) -> None:
        """Let everything that is to happen happen."""
        await self.runtime.sleep(seconds)


@asynccontextmanager
async def stage(*, started: bool = True) -> AsyncIterator[Stage]:
    """Open a stage, with its controllers running unless told otherwise."""
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    opened = Stage(server, runtime)
    await opened.prepare()
    if started:
        opened.start()
    yield opened
    await opened.kill()
    await server.close()
