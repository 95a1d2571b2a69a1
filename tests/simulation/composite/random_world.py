"""One cluster with lambda controllers of all three sorts, in which everything can break, behind a judge."""

from __future__ import annotations

import asyncio
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.apiserver import ApiServer
from hanse.apiserver.storage import Change
from hanse.composite.hooks.calling import HookBusy, HookFailed
from hanse.composite.hosting.place import Place
from hanse.composite.hosting.server import ControllerServer
from hanse.composite.hosting.shelf import CacheShelf
from hanse.composite.spec import HookSpec, WebhookSpec
from hanse.kube.client import Client
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.resources import CONFIGMAPS, CRDS, PODS, SECRETS
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.settings import ClusterSettings
from tests.simulation.composite.random_judge import CompositeJudge
from tests.simulation.composite.random_wire import RandomWire, Weather
from tests.simulation.composite.stage import THINGS, WIDE_THINGS, child, composite, config, parent_crd
from tests.simulation.random_federation import JudgedStorage
from tests.simulation.random_objects import Chance
from tests.simulation.world import ADMINISTRATOR

READY = {"statusChecks": {"conditions": [{"type": "Ready", "status": "True"}]}}
DECORATE = {"decorate": "yes"}
INPUT = {"input": "yes"}


def sets(parent: Obj) -> list[Obj]:
    """What the composite's hook wants: pods in falling order that roll, and ConfigMaps that change in place."""
    name, spec = name_of(parent), parent["spec"]
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}", "labels": {"thing": name}},
            "spec": {"containers": [{"name": "main", "image": spec["template"]["image"]}]},
        }
        for number in reversed(range(spec["replicas"]))
    ]
    return [*pods, *(config(f"{name}-conf-{number}", of=name, text=spec["text"]) for number in range(spec["configs"]))]


def notes(target: Obj) -> list[Obj]:
    """What the decorator's hook wants: a Secret that says how many replicas there are."""
    data = {"size": b64encode(str(target["spec"]["replicas"]).encode()).decode()}
    return [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name_of(target)}-note"}, "data": data}]


def copies(given: Obj) -> list[Obj]:
    """What the map's hook wants: a Secret for every input."""
    metadata = {"name": f"copy-{name_of(given)}", "namespace": "default"}
    return [{"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque"}]


class Hook:
    """One hook as one server of controllers calls it."""

    def __init__(self, world: RandomWorld, server: str, purpose: str) -> None:
        self._world = world
        self._server = server
        self._purpose = purpose

    async def call(self, body: Obj, root: Obj) -> Obj:
        """Answer, unless that goes wrong."""
        world = self._world
        if self._purpose in ("sync", "finalize"):
            world.judge.asked(self._server, root, list(body["children"]["Pod.v1"].values()))
        if world.chance.happens(world.slow_hooks):
            await world.runtime.sleep(world.chance.between(0.0, 12.0))
        if world.chance.happens(world.bad_hooks):
            raise world.chance.one_of([HookFailed("the hook was broken on purpose"), HookBusy(2.0)])
        return _ANSWERS[self._purpose](self._told(root, body.get("input")), body)

    async def close(self) -> None:
        """Have nothing to close."""

    def _told(self, root: Obj, given: Obj | None) -> Callable[[str, list[Obj]], list[Obj]]:
        def told(topic: str, children: list[Obj]) -> list[Obj]:
            self._world.judge.answered(self._server, root, topic, children, given)
            return children

        return told


_Told = Callable[[str, list[Obj]], list[Obj]]


def _sync(told: _Told, body: Obj) -> Obj:
    status = {"replicas": len(body["children"]["Pod.v1"])}
    return {"status": status, "children": told("sync", sets(body["parent"]))}


def _finalize(told: _Told, body: Obj) -> Obj:
    left = any(body["children"][kind] for kind in ("Pod.v1", "ConfigMap.v1"))
    return {"status": {}, "children": told("sync", []), "finalized": not left}


def _decorate(told: _Told, body: Obj) -> Obj:
    return {"annotations": {"decorated": "yes"}, "attachments": told("note", notes(body["object"]))}


def _map(told: _Told, body: Obj) -> Obj:
    return {"outputs": told(name_of(body["input"]), copies(body["input"]))}


_ANSWERS: dict[str, Callable[[_Told, Obj], Obj]] = {
    "sync": _sync,
    "finalize": _finalize,
    "decorate": _decorate,
    "map": _map,
}


def controllers(most_down: int, *, finalizes: bool, server_side: bool) -> Sequence[Obj]:
    """Return the three controllers."""
    hooks = {"sync": hook("sync")} | ({"finalize": hook("finalize")} if finalizes else {})
    rolling = child(PODS, "RollingRecreate", rollout={"maxUnavailable": most_down}, **READY)
    strategy = "ServerSideApply" if server_side else "DynamicApply"
    history = {"revisionHistory": {"fieldPaths": ["spec.template"]}}
    meta = {"apiVersion": "metacontroller.k8s.io/v1alpha1"}
    things, wide = ({"apiVersion": kind.api_version, "resource": kind.plural} for kind in (THINGS, WIDE_THINGS))
    decorator = {
        "resources": [{**things, "labelSelector": {"matchLabels": DECORATE}}],
        "attachments": [child(SECRETS, "InPlace")],
        "hooks": {"sync": hook("decorate")},
    }
    mapping = {
        "parentResource": wide,
        "inputResources": [{"apiVersion": "v1", "resource": "configmaps"}],
        "outputResources": [child(SECRETS, "InPlace")],
        "hooks": {"map": hook("map")},
    }
    return (
        composite("sets", hooks, rolling, child(CONFIGMAPS, "InPlace"), parent=history, applyStrategy=strategy),
        {**meta, "kind": "DecoratorController", "metadata": {"name": "notes"}, "spec": decorator},
        {**meta, "kind": "MapController", "metadata": {"name": "copies"}, "spec": mapping},
    )


def hook(purpose: str) -> Obj:
    """Return a hook of a controller object."""
    return {"version": "v1", "webhook": {"url": f"http://{purpose}"}}


class RandomWorld:
    """A cluster, servers of controllers that live and die, and the judge."""

    def __init__(self, seed: int) -> None:
        self.runtime = SeededRuntime(seed)
        self.chance = Chance(SeededRuntime(seed + 1_000_000).uniform)
        self.judge = CompositeJudge()
        self.weather = Weather()
        self.bad_hooks = 0.0
        self.slow_hooks = 0.0
        self.digest = 0
        self.servers: dict[RandomWire, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._born = 0

    async def start(self) -> None:
        """Open the cluster and have the controllers served."""
        self.server = await ApiServer.open(name="home", storage=JudgedStorage(self._hear), runtime=self.runtime)
        self.client = Client(self.server.connect(ADMINISTRATOR), self.runtime, manager="kubectl")
        inside = Client(self.server.connect(ADMINISTRATOR), self.runtime, manager=SIMULATOR)
        cluster = SimulatedCluster(inside, ClusterSettings(name="home", zones=("home-a",), nodes=1), self.runtime)
        self._tasks.append(asyncio.create_task(cluster.run()))
        await cluster.ready()
        for crd in (*METACONTROLLER_CRDS, parent_crd(THINGS), parent_crd(WIDE_THINGS)):
            await self.client.create(CRDS, crd)
        self.judge.most_down = self.chance.count(1, 2)
        self.finalizes = self.chance.happens(0.5)
        self.controllers = controllers(
            self.judge.most_down, finalizes=self.finalizes, server_side=self.chance.happens(0.3)
        )
        for each in self.controllers:
            await self.create(each)
        self.serve()

    def _hear(self, change: Change) -> None:
        told = f"{self.runtime.monotonic():.3f} {change.bucket} {change.path}".encode()
        self.digest = zlib.crc32(change.value, zlib.crc32(told, self.digest))
        self.judge.hear(change)

    async def create(self, obj: Obj) -> Obj:
        """Create an object as a person."""
        return await self.client.create(await self.client.resource_of(obj), obj)

    def serve(self) -> RandomWire:
        """Start one more server of controllers, which knows nothing but what is stored."""
        self._born += 1
        inner = self.server.connect(ADMINISTRATOR, as_remote=True)
        wire = RandomWire(f"server-{self._born}", inner, self.runtime, self.chance, self.weather, self.judge)
        client = Client(wire, self.runtime, manager="metacontroller")

        async def opened(spec: HookSpec) -> Hook:
            assert isinstance(spec.call, WebhookSpec)
            return Hook(self, wire.name, spec.call.url.removeprefix("http://"))

        place = Place(client, CacheShelf(client), EventRecorder(client, "metacontroller"), opened)
        task = asyncio.create_task(ControllerServer(place).run())
        wire.dies = task.cancel
        self.servers[wire] = task
        return wire

    async def bury(self) -> None:
        """Take away the servers that died; a server that ended by itself is to blame."""
        for wire, task in list(self.servers.items()):
            if task.done():
                del self.servers[wire]
                (ended,) = await asyncio.gather(task, return_exceptions=True)
                self.judge.dead(wire.name)
                if not isinstance(ended, asyncio.CancelledError):
                    self.judge.blame(f"crash and converge: a server of controllers ended by itself: {ended!r}")

    async def kill(self) -> None:
        """Kill every server at whatever it is about."""
        for task in self.servers.values():
            task.cancel()
        await asyncio.gather(*self.servers.values(), return_exceptions=True)
        await self.bury()

    async def revive(self) -> None:
        """Have exactly one server at work."""
        await self.bury()
        if not self.servers:
            self.serve()

    async def close(self) -> None:
        """End everything."""
        for task in (*self.servers.values(), *self._tasks):
            task.cancel()
        await asyncio.gather(*self.servers.values(), *self._tasks, return_exceptions=True)
        await self.server.close()

    def image(self, parent: Obj) -> str:
        """Return what the pods of a parent run."""
        return str(dig(parent, "spec", "template", "image"))


@asynccontextmanager
async def random_world(seed: int) -> AsyncIterator[RandomWorld]:
    """Have a world for the length of a block, on a loop whose clock jumps."""
    world = RandomWorld(seed)
    try:
        await world.start()
        yield world
    finally:
        await world.close()
