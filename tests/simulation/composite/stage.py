"""One cluster on virtual time with lambda controllers at work in it, whose hooks are functions of the tests."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.composite.hooks.calling import HookFailed
from hanse.composite.hosting.place import Place
from hanse.composite.hosting.server import ControllerServer
from hanse.composite.hosting.shelf import CacheShelf
from hanse.composite.spec import HookSpec, PythonSpec, WebhookSpec
from hanse.kube.client import Client
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj
from hanse.kube.resources import CRDS, EVENTS, NAMESPACES, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.settings import ClusterSettings
from tests.simulation.world import ADMINISTRATOR, Wire

GROUP = "ctl.example.com"
THINGS = Resource(GROUP, "v1", "things", "Thing")
WIDE_THINGS = Resource(GROUP, "v1", "widethings", "WideThing", namespaced=False)

Function = Callable[[Obj], Any]


class Calls:
    """A hook that is a function of a test, and remembers what it was asked."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.requests: list[Obj] = []

    async def call(self, body: Obj, root: Obj) -> Obj:
        self.requests.append(body)
        answer = self.function(body)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        found: Obj = answer
        return found

    async def close(self) -> None:
        """Have nothing to close."""


def _in_a_worker(function: Function, body: Obj) -> Any:
    """Call a function as its process would: what it raises is its answer."""
    try:
        return function(body)
    except Exception as error:  # noqa: BLE001
        return HookFailed(f"raised {type(error).__name__}: {error}")


class Stage:
    """An embedded API server, the simulated cluster behind it, and a server of controllers that can be killed."""

    def __init__(self, runtime: SeededRuntime) -> None:
        self.runtime = runtime
        self.hooks: dict[str, Calls] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._serving: asyncio.Task[None] | None = None

    async def start(self, *, nodes: bool) -> None:
        self.server = await ApiServer.open(name="home", storage=MemoryStorage(), runtime=self.runtime)
        self.client = Client(self.server.connect(ADMINISTRATOR), self.runtime, manager="kubectl")
        if nodes:
            client = Client(self.server.connect(ADMINISTRATOR), self.runtime, manager=SIMULATOR)
            cluster = SimulatedCluster(client, ClusterSettings(name="home", zones=("home-a",)), self.runtime)
            self._tasks.append(asyncio.create_task(cluster.run()))
            await cluster.ready()
        for crd in (*METACONTROLLER_CRDS, parent_crd(THINGS), parent_crd(WIDE_THINGS)):
            await self.client.create(CRDS, crd)
        self.wire = Wire(self.server.connect(ADMINISTRATOR, as_remote=True), self.runtime)
        self.serve()

    def serve(self, labels: str = "") -> None:
        """Start a server of controllers."""
        client = Client(self.wire, self.runtime, manager="metacontroller")
        place = Place(client, CacheShelf(client), EventRecorder(client, "metacontroller"), self._open)
        self.controllers = ControllerServer(place, labels=labels)
        self._serving = asyncio.create_task(self.controllers.run())

    async def _open(self, spec: HookSpec) -> Calls:
        if isinstance(spec.call, WebhookSpec):
            return self.hooks[spec.call.url]
        assert isinstance(spec.call, PythonSpec)
        assert spec.call.source is not None
        assert spec.call.source.config_map is not None
        return self.hooks[f"{spec.call.source.config_map.name}/{spec.call.function}"]

    async def kill(self) -> None:
        """End the server of controllers between two requests."""
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)

    async def close(self) -> None:
        await self.kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.server.close()

    def hook(self, name: str, function: Function) -> Obj:
        """Return the hook of a controller object that calls a function."""
        url = f"http://{name}"
        self.hooks[url] = Calls(function)
        return {"version": "v1", "webhook": {"url": url}}

    def python(self, config_map: str, functions: Mapping[str, Function]) -> None:
        """Have Python hooks whose code would be in a ConfigMap be these functions, in this process."""
        for name, function in functions.items():
            self.hooks[f"{config_map}/{name}"] = Calls(partial(_in_a_worker, function))

    def calls(self, name: str) -> list[Obj]:
        """Return what a hook was asked so far."""
        return self.hooks[f"http://{name}"].requests

    async def create(self, obj: Obj) -> Obj:
        return await self.client.create(await self.client.resource_of(obj), obj)

    async def namespace(self, name: str, **labels: str) -> None:
        await self.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )

    async def names(self, resource: Resource, namespace: str = "default", labels: str = "") -> list[str]:
        return sorted(
            obj["metadata"]["name"] for obj in (await self.client.list(resource, namespace, labels=labels)).items
        )

    async def events(self, reason: str, namespace: str = "default") -> list[Obj]:
        listed = (await self.client.list(EVENTS, namespace)).items
        return [event for event in listed if event["reason"] == reason]

    async def until(self, holds: Callable[[], Any], seconds: float = 60.0) -> Any:
        """Wait for a condition on virtual time, and return what it gave."""
        start = self.runtime.monotonic()
        while True:
            found = holds()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            assert self.runtime.monotonic() - start <= seconds, f"not within {seconds} s of virtual time"
            await self.runtime.sleep(0.1)

    async def silent(self, seconds: float = 10.0) -> bool:
        """Tell whether nothing is written any more, though time passes."""
        await self.settle()
        self.wire.writes.clear()
        await self.settle(seconds)
        return self.wire.writes == []

    async def settle(self, seconds: float = 5.0) -> None:
        """Let some virtual time pass, in which everything that is due happens."""
        await self.runtime.sleep(seconds)


def parent_crd(resource: Resource, *, status: bool = True) -> Obj:
    """Return the definition of a kind of parents that may hold anything."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: Obj = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
    }
    if status:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {
                "plural": resource.plural,
                "kind": resource.kind,
                "singular": resource.kind.lower(),
                "listKind": f"{resource.kind}List",
            },
            "versions": [version],
        },
    }


@asynccontextmanager
async def stage(*, nodes: bool = False, seed: int = 0) -> AsyncIterator[Stage]:
    """Have lambda controllers at work for the length of a block; with `nodes`, pods run."""
    on = Stage(SeededRuntime(seed))
    try:
        await on.start(nodes=nodes)
        yield on
    finally:
        await on.close()


def composite(name: str, hooks: Obj, *children: Obj, of: Resource = THINGS, **spec: Any) -> Obj:
    """Return a CompositeController."""
    parent_spec = {"apiVersion": of.api_version, "resource": of.plural, **spec.pop("parent", {})}
    return {
        "apiVersion": "metacontroller.k8s.io/v1alpha1",
        "kind": "CompositeController",
        "metadata": {"name": name},
        "spec": {"parentResource": parent_spec, "childResources": list(children), "hooks": hooks, **spec},
    }


def child(resource: Resource, method: str = "", **strategy: Any) -> Obj:
    """Return an entry of a controller's children."""
    entry: Obj = {"apiVersion": resource.api_version, "resource": resource.plural}
    if method:
        entry["updateStrategy"] = {"method": method, **strategy}
    return entry


def thing(name: str = "one", namespace: str = "default", *, kind: Resource = THINGS, **spec: Any) -> Obj:
    """Return a parent that selects `thing: NAME`."""
    metadata: Obj = {"name": name}
    if kind.namespaced:
        metadata["namespace"] = namespace
    selector = {"selector": {"matchLabels": {"thing": name}}}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": selector | spec}


def config(name: str, of: str = "one", namespace: str = "", **data: str) -> Obj:
    """Return a ConfigMap as a hook writes it, a child of the named parent."""
    metadata: Obj = {"name": name, "labels": {"thing": of}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
