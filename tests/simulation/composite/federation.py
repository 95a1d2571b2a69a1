"""A whole federation on virtual time with lambda controllers at work on it, whose hooks are functions of the tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.api.placed_children import PLACED_CHILD_CRD, PLACED_CHILDREN
from hanse.cli.authorship import Authorship
from hanse.clusters.access import Access
from hanse.clusters.registry import Registry
from hanse.composite.door import CompositeDoor
from hanse.composite.hosting.elsewhere import Elsewhere
from hanse.composite.hosting.place import Place
from hanse.composite.hosting.server import ControllerServer
from hanse.composite.hosting.shelf import CacheShelf
from hanse.composite.spec import HookSpec, WebhookSpec
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import CONFIGMAPS, CRDS, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.native import NativeDoor
from hanse.propagation.engine import Engine
from tests.simulation.composite.stage import THINGS, WIDE_THINGS, Calls, parent_crd
from tests.simulation.world import World


class Union(World):
    """A federation, its engine, and the lambda controllers on it."""

    def __init__(self, runtime: SeededRuntime) -> None:
        super().__init__(runtime)
        self.hooks: dict[str, Calls] = {}

    async def start(self, members: tuple[str, ...]) -> None:
        """Begin as every federation does, with the kinds of lambda controllers on it."""
        await super().start(members)
        for crd in (*METACONTROLLER_CRDS, PLACED_CHILD_CRD, parent_crd(THINGS), parent_crd(WIDE_THINGS)):
            await self.host.create(CRDS, crd)

    def start_control_plane(self) -> None:
        self._control_plane = asyncio.create_task(self._federate())

    async def _federate(self) -> None:
        host = Client(self._wire("host"), self.runtime)
        registry = Registry(host, lambda endpoint: self._wire(endpoint.server.removeprefix("https://")))
        access = Access(host)
        engine = Engine(host, registry, [NativeDoor(), CompositeDoor()], access)
        place = Place(
            host,
            CacheShelf(host),
            EventRecorder(host, "metacontroller"),
            self._hook_of,
            Elsewhere(engine.view, registry),
        )
        async with asyncio.TaskGroup() as tasks:
            for part in (registry, access, engine, Authorship(host, composites=True), ControllerServer(place)):
                tasks.create_task(part.run())

    async def _hook_of(self, spec: HookSpec) -> Calls:
        assert isinstance(spec.call, WebhookSpec)
        return self.hooks[spec.call.url]

    def hook(self, name: str, function: Callable[[Obj], Any]) -> Obj:
        """Return the hook of a controller object that calls a function."""
        self.hooks[f"http://{name}"] = Calls(function)
        return {"version": "v1", "webhook": {"url": f"http://{name}"}}

    def last(self, name: str = "sync") -> Obj:
        """Return what a hook was asked last."""
        return self.hooks[f"http://{name}"].requests[-1]

    async def create(self, obj: Obj) -> Obj:
        return await self.host.create(await self.host.resource_of(obj), obj)

    async def texts(self, name: str = "one") -> dict[str, str]:
        """Return what the ConfigMap of a name says in each cluster that has one."""
        found = {cluster: await self.find(cluster, CONFIGMAPS, name) for cluster in self.clusters}
        return {cluster: obj["data"]["text"] for cluster, obj in found.items() if obj is not None}

    async def told(self, name: str = "one", kind: Resource = THINGS) -> str:
        """Return what a parent says went wrong."""
        parent = await self.host.get(kind, name, "default" if kind.namespaced else "")
        return str((find_condition(dig(parent, "status", "conditions"), "Synced") or {}).get("message", ""))

    async def placed(self) -> list[Obj]:
        """Return every PlacedChild."""
        return list((await self.host.list(PLACED_CHILDREN)).items)


@asynccontextmanager
async def union(*members: str, seed: int = 0) -> AsyncIterator[Union]:
    """Run a federation with lambda controllers for the length of a block."""
    world = Union(SeededRuntime(seed))
    try:
        await world.start(members or ("a", "b", "c"))
        yield world
    finally:
        await world.close()
