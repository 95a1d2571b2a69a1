"""A source and two targets on API servers in memory, in virtual time; a door of the tests' own places the pods.

A pod goes to the targets that its annotation `goes-to` names; a Lease stands for it there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from hanse.api.admiralty.keys import HAS_FINALIZER, MANIFEST, POD_FINALIZER, PROXY_SCHEDULER
from hanse.api.admiralty.names import TargetName, target_named
from hanse.api.clusters import Cluster
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.clusters.member import Member
from hanse.clusters.roster import Attachment
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, annotations_of, key_of, name_of, namespace_of, uid_of
from hanse.kube.resources import LEASES, PODS, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Request, Response, Stream
from hanse.placement.ask import ClusterTerm, Placement
from hanse.pods.baggage.companion import CompanionDoor
from hanse.pods.baggage.door import BaggageDoor
from hanse.pods.baggage.needs import needs_of
from hanse.pods.baggage.rerouting import Rerouter
from hanse.pods.baggage.services import GlobalDoor
from hanse.pods.placeholder.reading import is_placeholder, submitted
from hanse.propagation.dependencies import NAMEABLE, NO_NEEDS, Needs
from hanse.propagation.door import Affected, Farewell
from hanse.propagation.engine import Engine
from hanse.propagation.intent import Intent, Ref
from tests.simulation.world import Wire

ADMINISTRATOR = Identity("admin", ("system:masters",))
GOES_TO = "goes-to"


@dataclass(slots=True)
class Line(Wire):
    """A transport that also remembers whatever was asked through it."""

    asked: list[Request] = field(default_factory=list)

    async def send(self, request: Request, timeout: float) -> Response:
        self.asked.append(request)
        return await Wire.send(self, request, timeout)

    async def stream(self, request: Request, timeout: float) -> Stream:
        self.asked.append(request)
        return await Wire.stream(self, request, timeout)


class PlacingDoor(CompanionDoor):
    """Places pods where they ask to be."""

    name = "pods"
    resources = (PODS,)
    inputs: Sequence[Resource] = ()

    def informed(self, _inputs):
        return self

    def affected(self, _resource, _change):
        return Affected()

    def target(self, source: Ref) -> Ref:
        return Ref(LEASES, source.key) if source.resource == PODS else source

    def admits(self, source: Obj) -> bool:
        return is_placeholder(source)

    def farewell(self, _source: Obj) -> Farewell:
        return Farewell()

    def needs(self, source: Obj) -> Needs:
        pod = submitted(source)
        return needs_of(pod) if pod is not None else NO_NEEDS

    def translate(self, source: Obj) -> Intent:
        names = tuple(name for name in annotations_of(source).get(GOES_TO, "").split(",") if name)
        metadata = {"name": name_of(source), "namespace": namespace_of(source)}
        template = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": {}}
        placement = Placement(clusters=ClusterTerm(names=names))
        return Intent(LEASES, key_of(source), uid_of(source), template, placement, nowhere=True)


class Targets:
    """The clusters that the test says there are."""

    def __init__(self, members: dict[str, Client], own: Iterable[str] = ()) -> None:
        self.names = [target_named(name) for name in members]
        self._members = members
        self._own = frozenset(own)
        self._listeners: list[Callable[[str], None]] = []
        self._work: list[Attachment] = []

    def attach(self, work: Attachment) -> None:
        self._work.append(work)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)

    def clusters(self) -> list[Cluster]:
        return [Cluster(str(name), ready=True) for name in sorted(self.names)]

    def targets(self) -> Sequence[TargetName]:
        return self.names

    def is_self(self, name: str) -> bool:
        return name in self._own

    def is_leaving(self, name: str) -> bool:
        return False

    async def wait_synced(self) -> None:
        return

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for work in self._work:
                for name in self.names:
                    client = self._members[str(name)]
                    tasks.create_task(work(Member(str(name), client, name.namespace)))

    def anew(self) -> Targets:
        """Return the same targets as somebody finds them who starts."""
        return Targets(self._members, self._own)

    def leaves(self, name: str) -> None:
        """Have a target be none any more."""
        self.names = [each for each in self.names if str(each) != name]
        for listener in self._listeners:
            listener(name)


@dataclass
class Stage:
    runtime: SeededRuntime
    clients: dict[str, Client]
    wires: dict[str, Line]
    targets: Targets
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, home: Client) -> None:
        """Begin to carry what goes with the pods of the source."""
        targets = self.targets
        doors = [PlacingDoor("home", targets), BaggageDoor("home", targets), GlobalDoor("home", targets)]
        selectors = dict.fromkeys((PODS, *NAMEABLE), f"{HAS_FINALIZER}=true")
        engine = Engine(home, targets, doors, finalizer=POD_FINALIZER, selectors=selectors, guarded=False)  # type: ignore[arg-type]
        self.tasks = [asyncio.create_task(part.run()) for part in (engine, Rerouter(home, targets), targets)]

    async def stop(self) -> None:
        """End it anywhere."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def restart(self) -> None:
        """End it anywhere, and begin anew with nothing in memory."""
        await self.stop()
        self.targets = self.targets.anew()
        self.start(Client(self.wires["home"], self.runtime))

    @property
    def home(self) -> Client:
        return self.clients["home"]

    async def find(self, cluster: str, resource: Resource, name: str, namespace: str = "default") -> Obj | None:
        return await self.clients[cluster].find(resource, name, namespace if resource.namespaced else "")

    async def where(self, resource: Resource, name: str, namespace: str = "default") -> list[str]:
        """Return the targets that have an object."""
        found = {each: await self.find(each, resource, name, namespace) for each in self.clients if each != "home"}
        return [each for each, obj in found.items() if obj is not None]

    async def settle(self, seconds: float = 8.0) -> None:
        await self.runtime.sleep(seconds)

    async def create(self, resource: Resource, name: str, cluster: str = "home", **fields: Any) -> Obj:
        metadata = {"name": name, **({"namespace": "default"} if resource.namespaced else {})}
        metadata |= fields.pop("metadata", {})
        obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}
        return await self.clients[cluster].create(resource, obj)

    async def pod(self, name: str, goes_to: str, *, namespace: str = "default", **spec: Any) -> Obj:
        """Make a placeholder as admission would leave it; `labels` and `annotations` are the pod's."""
        labels, annotations = spec.pop("labels", {}), spec.pop("annotations", {})
        container = {"name": "main", "image": "main:1", **spec.pop("container", {})}
        written = {"containers": [container], **spec}
        metadata = {"name": name, "namespace": namespace, "annotations": annotations}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": written}
        placeholder: Obj = {
            "namespace": namespace,
            "labels": {**labels, HAS_FINALIZER: "true"},
            "finalizers": [POD_FINALIZER],
        }
        placeholder["annotations"] = {GOES_TO: goes_to, MANIFEST: orjson.dumps(pod).decode()}
        plain = {"containers": [{"name": "main", "image": "main:1"}], "schedulerName": PROXY_SCHEDULER}
        return await self.create(PODS, name, metadata=placeholder, spec=plain)

    async def move(self, name: str, goes_to: str) -> None:
        patch = {"metadata": {"annotations": {GOES_TO: goes_to}}}
        await self.home.patch(PODS, name, patch, "default")


@asynccontextmanager
async def travelling(targets: Sequence[str] = ("east", "west"), own: Sequence[str] = ()) -> AsyncIterator[Stage]:
    """Run a source whose pods go to these targets, of which its `own` are the source itself."""
    runtime = SeededRuntime(0)
    places = {name: target_named(name).name for name in targets}
    names = ["home", *dict.fromkeys(place for name, place in places.items() if name not in own)]
    servers = {name: await ApiServer.open(name=name, storage=MemoryStorage(), runtime=runtime) for name in names}
    clients = {
        name: Client(server.connect(ADMINISTRATOR), runtime, manager="kubectl") for name, server in servers.items()
    }
    wires = {name: Line(server.connect(ADMINISTRATOR, as_remote=True), runtime) for name, server in servers.items()}
    members = {name: Client(wires["home" if name in own else place], runtime) for name, place in places.items()}
    stage = Stage(runtime, clients, wires, Targets(members, own))
    stage.start(Client(wires["home"], runtime))
    try:
        await runtime.sleep(3)
        yield stage
    finally:
        await stage.stop()
        for server in servers.values():
            await server.close()
