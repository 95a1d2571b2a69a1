"""A cluster with lambda controllers at work in it, whose hooks are functions of a test behind real HTTP.

Each line of the list has a corner of its own in it: a namespace, parents with its label, controllers with its name. So
all lines can be tried at the same time, which is how a real API server gets through them in seconds.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson
from aiohttp import web

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.cli.composite_parts import place_in
from hanse.composite.hosting.server import ControllerServer
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition, is_true
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import CONFIGMAPS, CRDS, EVENTS, NAMESPACES, SECRETS, Resource
from hanse.kube.runtime import SystemRuntime
from hanse.kube.transport import Request, Transport
from tests.simulation.composite.stage import GROUP, THINGS, WIDE_THINGS, composite, parent_crd, thing
from tests.simulation.world import Wire

PARTS = Resource(GROUP, "v1", "parts", "Part")
PATIENCE_SECONDS = 60.0
# So long nothing must happen to count as nothing.
QUIET_SECONDS = 0.7
# Controllers that the server of all lines runs.
MAIN = {"served-by": "main"}

Function = Callable[..., Any]


class Asked:
    """A hook: the function that answers, and what it was asked, with the headers of each request."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.requests: list[Obj] = []
        self.headers: list[Mapping[str, str]] = []
        self.times: list[float] = []


class Lines:
    """The cluster: its client, the server of hooks, and the server of controllers."""

    def __init__(self, ours: Transport, theirs: Transport) -> None:
        """Talk to one cluster as people do, and by another transport as the server of controllers does."""
        self.runtime = SystemRuntime()
        self.client = Client(ours, self.runtime, manager="kubectl")
        self.requests: list[Request] = []
        self.wire = Wire(theirs, self.runtime, before_write=self.requests.append)
        self.hooks: dict[str, Asked] = {}
        self.url = ""
        self.controllers = self.server(MAIN)

    def server(self, labels: Mapping[str, str]) -> ControllerServer:
        """Return a server of the controllers with these labels, not yet at work."""
        place = place_in(Client(self.wire, self.runtime), trusted=True)
        return ControllerServer(place, labels=",".join(f"{key}={value}" for key, value in labels.items()))

    async def prepare(self) -> None:
        """Define the kinds, and wait until they are served."""
        definitions = [*METACONTROLLER_CRDS, *map(parent_crd, (THINGS, WIDE_THINGS, PARTS))]
        for definition in definitions:
            await self.client.create(CRDS, definition)
        for definition in definitions:
            await self.until(lambda name=definition["metadata"]["name"]: self._served(name))

    async def _served(self, name: str) -> bool:
        return is_true(dig(await self.client.get(CRDS, name), "status", "conditions"), "Established")

    async def until(self, holds: Callable[..., Any], seconds: float = PATIENCE_SECONDS) -> Any:
        """Wait for a condition, and return what it gave."""
        start = self.runtime.monotonic()
        while True:
            found = holds()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            assert self.runtime.monotonic() - start <= seconds, f"not within {seconds} s"
            await self.runtime.sleep(0.05)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer as the function of the hook says; what it raises is a 500."""
        asked = self.hooks[request.match_info["name"]]
        body = orjson.loads(await request.read())
        asked.requests.append(body)
        asked.headers.append(request.headers)
        asked.times.append(self.runtime.monotonic())
        said = asked.function(body)
        if inspect.isawaitable(said):
            said = await said
        return said if isinstance(said, web.StreamResponse) else web.json_response(said)


class Line:
    """The corner of one line: its namespace, its controllers and its parents."""

    def __init__(self, on: Lines, name: str) -> None:
        self.on = on
        self.client = on.client
        self.name = name
        self.until = on.until

    async def open(self) -> None:
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}}
        await self.client.create(NAMESPACES, manifest)

    def hook(self, function: Function, name: str = "sync", version: str = "v1", **webhook: Any) -> Obj:
        """Return the hook of a controller object that calls a function."""
        self.on.hooks[f"{self.name}-{name}"] = Asked(function)
        return {"version": version, "webhook": {"url": f"{self.on.url}/{self.name}-{name}", **webhook}}

    def asked(self, name: str = "sync") -> Asked:
        return self.on.hooks[f"{self.name}-{name}"]

    def calls(self, name: str = "sync") -> list[Obj]:
        """Return what a hook was asked so far."""
        return self.asked(name).requests

    def controller(self, hooks: Obj, *children: Obj, of: Resource = THINGS, name: str = "", **spec: Any) -> Obj:
        """Return a CompositeController of this line's parents."""
        selecting = {"labelSelector": {"matchLabels": {"line": self.name}}, **spec.pop("parent", {})}
        made = composite(name or self.name, hooks, *children, of=of, parent=selecting, **spec)
        made["metadata"]["labels"] = MAIN
        return made

    async def serve(self, hooks: Obj, *children: Obj, **spec: Any) -> Obj:
        """Create a CompositeController of this line's parents."""
        return await self.client.create(COMPOSITE_CONTROLLERS, self.controller(hooks, *children, **spec))

    async def thing(self, name: str = "one", *, kind: Resource = THINGS, **spec: Any) -> Obj:
        """Create a parent that selects `thing: NAME`."""
        made = thing(name, self.name, kind=kind, **spec)
        made["metadata"]["labels"] = {"line": self.name}
        return await self.client.create(kind, made)

    async def edit(self, patch: Obj, name: str = "one", resource: Resource = THINGS, *, subresource: str = "") -> Obj:
        """Change an object of this line by hand."""
        return await self.client.patch(resource, name, patch, self.name, subresource=subresource)

    async def create(self, resource: Resource, obj: Obj) -> Obj:
        """Create an object in this line's namespace."""
        return await self.client.create(resource, {**obj, "metadata": {**obj["metadata"], "namespace": self.name}})

    async def get(self, resource: Resource, name: str) -> Obj:
        return await self.client.get(resource, name, self.name)

    async def find(self, resource: Resource, name: str) -> Obj | None:
        return await self.client.find(resource, name, self.name)

    async def names(self, resource: Resource = CONFIGMAPS) -> list[str]:
        """Return the names of the objects that have a parent's label."""
        listed = (await self.client.list(resource, self.name, labels="thing")).items
        return sorted(each["metadata"]["name"] for each in listed)

    async def has(self, *names: str, resource: Resource = CONFIGMAPS) -> bool:
        return await self.names(resource) == sorted(names)

    async def data(self, name: str) -> Obj | None:
        found = await self.find(CONFIGMAPS, name)
        return None if found is None else found.get("data") or {}

    async def status(self, name: str = "one") -> Obj:
        return (await self.get(THINGS, name)).get("status") or {}

    async def events(self, reason: str) -> list[str]:
        """Return the messages of Events about this line's objects and controllers."""
        found = (await self.client.list(EVENTS)).items
        return [each["message"] for each in found if each["reason"] == reason and self._is_about(each)]

    def _is_about(self, event: Obj) -> bool:
        about = event.get("involvedObject") or event.get("regarding") or {}
        return self.name in (about.get("name"), about.get("namespace"))

    async def ready(self, name: str = "") -> Obj:
        """Return the condition that says whether a controller runs."""
        stored = await self.client.get(COMPOSITE_CONTROLLERS, name or self.name)
        return find_condition(dig(stored, "status", "conditions"), "Ready") or {}

    async def is_ready(self, status: str) -> bool:
        """Tell whether it is said of this line's controller that it runs, respectively that it does not."""
        return (await self.ready()).get("status") == status

    async def secret(self, name: str, **data: str) -> None:
        await self.create(SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}} | _texts(data))

    async def quiet(self, seconds: float = QUIET_SECONDS) -> None:
        """Let so much time pass that what is due would have happened."""
        await self.on.runtime.sleep(seconds)

    async def rested(self, name: str = "sync") -> int:
        """Wait until a hook is not called any more, and return how often it was."""
        calls = -1
        while calls != len(self.calls(name)) or not calls:
            calls = len(self.calls(name))
            await self.quiet()
        return calls

    def writes(self, word: str = "") -> list[Request]:
        """Return what the server of controllers wrote to this line's namespace, of paths with a word in them."""
        inside = f"/namespaces/{self.name}/"
        return [each for each in self.on.requests if inside in each.path and word in each.path]


def _texts(data: Mapping[str, str]) -> Obj:
    return {"type": "Opaque", "stringData": dict(data)}


@asynccontextmanager
async def lines(ours: Transport, theirs: Transport) -> AsyncIterator[Lines]:
    """Have lambda controllers at work in a cluster for the length of a block."""
    on = Lines(ours, theirs)
    application = web.Application()
    application.router.add_post("/{name}", on.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        on.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        await on.prepare()
        serving = asyncio.create_task(on.controllers.run())
        yield on
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    finally:
        await runner.cleanup()
