"""The Release controller alone on an embedded host, on virtual time: tests play the people, the clusters and the rest.

Clusters are Cluster objects whose status is written by hand; what clusters show of a release is written into the
targets' status, as the targets' controller does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.clusters import CLUSTERS
from hanse.api.pieces import PIECE_CRD, RENDERING_ANNOTATION
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import (
    APPLICATIONS,
    CAPACITY_TARGETS,
    CLUSTERS_ANNOTATION,
    INSTALLATION_TARGETS,
    RELEASES,
    ROLLOUT_BLOCKS,
    ROLLOUT_FINALIZER,
    TRAFFIC_TARGETS,
)
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.clusters.access import Access
from hanse.clusters.member import Member
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import CRDS
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Request, Response, Stream, Transport
from hanse.rollouts.environment import Environment
from hanse.rollouts.execution import Answer
from hanse.rollouts.releases import ReleaseController
from hanse.rollouts.releases import manifests as manifests_of
from hanse.rollouts.shelf import Shelf

ADMINISTRATOR = Identity("admin", ("system:masters",))
TARGETS = {"it": INSTALLATION_TARGETS, "ct": CAPACITY_TARGETS, "tt": TRAFFIC_TARGETS}


def step(name: str, capacity: tuple[int, int], traffic: tuple[int, int], **more: Any) -> Obj:
    """Return a step; pairs are the incumbent's and the contender's."""
    pairs = {"capacity": capacity, "traffic": traffic}
    return {
        "name": name,
        **{kind: dict(zip(("incumbent", "contender"), pair, strict=True)) for kind, pair in pairs.items()},
        **more,
    }


STAGING = step("staging", (100, 1), (100, 0))
HALF = step("half", (50, 50), (50, 50))
FULL_ON = step("full on", (0, 100), (0, 100))


def manifests(release: str, replicas: int = 3) -> list[Obj]:
    """Return what the chart of these tests renders."""
    labels = {"app": "nginx"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": "nginx"}]}}
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "nginx"},
            "spec": {"selector": labels, "ports": [{"port": 80}]},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"{release}-nginx"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod},
        },
    ]


class Charts:
    """Sources that render what they are told to, and remember for whom they did."""

    def __init__(self) -> None:
        self.rendered: list[str] = []
        self.problems: list[Exception] = []
        self.more: list[Obj] = []
        self.hanging: set[str] = set()

    async def resolve(self, environment: Environment, namespace: str) -> str:
        return environment.chart.version if environment.chart is not None else ""

    async def render(self, environment: Environment, *, release: str, namespace: str) -> list[Obj]:
        self.rendered.append(release)
        await asyncio.sleep(3600.0 if release in self.hanging else 0.5)
        if self.problems:
            raise self.problems.pop(0)
        return [*manifests(release, environment.values.get("replicaCount", 3)), *self.more]


class Oracle:
    """Answers checks by what is written here for each of them."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[str] = []

    async def ask(self, check: Any) -> Answer:
        self.asked.append(check.name)
        await asyncio.sleep(0.2)
        return self.answers[check.name].pop(0)


class Rights(Access):
    """Which clusters authors may not use, as tests say."""

    def __init__(self, host: Client) -> None:
        super().__init__(host)
        self.refused: dict[str, str] = {}
        # The kind of objects whose authors are refused.
        self.by = "Application"
        self._heard: list[Callable[[], None]] = []

    def subscribe(self, listener: Callable[[], None]) -> None:
        self._heard.append(listener)

    async def refusals(self, source: Obj, clusters: Sequence[str], voices: Sequence[Obj] = ()) -> dict[str, str]:
        asked = [each["kind"] for each in (source, *voices)]
        return {name: why for name, why in self.refused.items() if name in clusters and self.by in asked}

    def change(self, **refused: str) -> None:
        self.refused = refused
        for listener in self._heard:
            listener()


class Wire:
    """The controller's way to the host; remembers what was written, and can interfere before that."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.writes: list[tuple[str, str]] = []
        self.before_write: Any = None

    @property
    def address(self) -> str:
        return self.inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        if request.method != "GET" and "/events" not in request.path:
            if self.before_write is not None:
                await self.before_write(request)
            self.writes.append((request.method, request.path.partition("/namespaces/default/")[2]))
        return await self.inner.send(request, timeout)

    async def stream(self, request: Request, timeout: float) -> Stream:
        return await self.inner.stream(request, timeout)

    async def close(self) -> None:
        await self.inner.close()


class Stage:
    """A host with the application `app` and a controller that can be started and killed."""

    def __init__(self, server: ApiServer, runtime: SeededRuntime) -> None:
        self.runtime = runtime
        self.server = server
        self.host = Client(server.connect(ADMINISTRATOR), runtime, manager="kubectl")
        self.charts = Charts()
        self.oracle = Oracle()
        self.rights = Rights(self.host)
        # Clusters that can be asked, where it matters what they serve.
        self.members: list[Member] = []
        self.others: list[ApiServer] = []
        self.wire = Wire(server.connect(ADMINISTRATOR))
        self.uid = ""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        host = Client(self.wire, self.runtime)
        shelf, registry = Shelf(host), Registry(host, self._nowhere)
        controller = ReleaseController(host, shelf, registry, self.charts, self.rights, self.oracle)
        # The registry without its connections: clusters are what their objects say.
        registry.cache.subscribe(registry._cluster_changed)
        async with asyncio.TaskGroup() as tasks:
            for part in (shelf.run(), registry.cache.run(), controller.run(), *map(controller._serve, self.members)):
                tasks.create_task(part)

    async def kill(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def another_server(self, name: str) -> Transport:
        """Open a cluster's API server that ends with this stage; returns the way to it."""
        self.others.append(await ApiServer.open(name=name, storage=MemoryStorage(), runtime=self.runtime))
        return self.others[-1].connect(ADMINISTRATOR)

    @staticmethod
    def _nowhere(_endpoint: object) -> Transport:
        raise NotImplementedError

    async def quiet(self, seconds: float = 3.0) -> None:
        """Let the controller do what it can."""
        await asyncio.sleep(seconds)

    # What people do

    async def application(self, name: str = "app") -> Obj:
        made = await self.host.create(APPLICATIONS, _obj(APPLICATIONS, name, {"template": environment()}))
        self.uid = made["metadata"]["uid"]
        return made

    async def cluster(self, name: str, region: str = "local", **annotations: str) -> None:
        metadata = {"name": name, "labels": {"topology.kubernetes.io/region": region}, "annotations": annotations}
        obj = {"apiVersion": CLUSTERS.api_version, "kind": "Cluster", "metadata": metadata, "spec": {}}
        await self.host.create(CLUSTERS, obj)
        await self.cluster_is(name, ready=True)

    async def cluster_is(self, name: str, *, ready: bool) -> None:
        words = (("Ready", ready), ("Offline", not ready))
        conditions = [
            {"type": kind, "status": str(value), "reason": "Test", "message": "by hand"} for kind, value in words
        ]
        for each in conditions:
            each["lastTransitionTime"] = "2030-01-01T00:00:00Z"
        await self.host.patch(
            CLUSTERS, name, {"status": {"conditions": conditions, "version": "v1.34.0"}}, subresource="status"
        )

    async def release(self, generation: int = 0, target_step: int = 0, name: str = "", **asked: Any) -> str:
        name = name or f"app-{generation}"
        obj = _obj(RELEASES, name, {"targetStep": target_step, "environment": environment(**asked)})
        owner = {"apiVersion": APPLICATIONS.api_version, "kind": "Application", "name": "app", "uid": self.uid}
        obj["metadata"] |= {
            "labels": {"shipper-app": "app", "shipper-release": name, "shipper-release-hash": "abc", "team": "a"},
            "annotations": {"shipper.booking.com/release.generation": str(generation)},
            "finalizers": [ROLLOUT_FINALIZER],
            "ownerReferences": [owner] if self.uid else [],
        }
        await self.host.create(RELEASES, obj)
        return name

    async def stands(self, generation: int, target_step: int, share: int, *, complete: bool, **asked: Any) -> str:
        """Have a release as it is once it has that share everywhere; for before the controller runs."""
        name = await self.release(generation, target_step, **asked)
        clusters = [each["metadata"]["name"] for each in (await self.host.list(CLUSTERS)).items]
        await self.annotate(name, **{CLUSTERS_ANNOTATION.replace("/", "__"): ",".join(clusters)})
        release = await self.host.get(RELEASES, name, "default")
        capacity = manifests_of.capacity(release, clusters, 3, dict.fromkeys(clusters, share))
        traffic = manifests_of.traffic(release, clusters, dict.fromkeys(clusters, share))
        said = {RENDERING_ANNOTATION: "digest", manifests_of.REPLICAS_ANNOTATION: "3"}
        spec = {"clusters": clusters, "canOverride": False, "values": {}}
        installation = {**capacity, "kind": "InstallationTarget", "spec": spec}
        installation["metadata"] = {**capacity["metadata"], "annotations": said}
        for kind, target in (("it", installation), ("ct", capacity), ("tt", traffic)):
            await self.host.create(TARGETS[kind], target)
        await self.shows(name, "it", "ct", "tt")
        named = release["spec"]["environment"]["strategy"]["steps"][target_step]["name"]
        status: Obj = {"achievedStep": {"step": target_step, "name": named}}
        if complete:
            status["conditions"] = [{"type": "Complete", "status": "True", "reason": "", "message": ""}]
        await self.host.patch(RELEASES, name, {"status": status}, "default", subresource="status")
        return name

    async def go_to(self, name: str, target_step: int) -> None:
        await self.host.patch(RELEASES, name, {"spec": {"targetStep": target_step}}, "default")

    async def annotate(self, name: str, **said: str | None) -> None:
        named = {key.replace("__", "/").replace("_", "-"): value for key, value in said.items()}
        await self.host.patch(RELEASES, name, {"metadata": {"annotations": named}}, "default")

    async def block(self, name: str = "freeze") -> None:
        spec = {"message": "no", "author": {"type": "User", "name": "me"}}
        await self.host.create(ROLLOUT_BLOCKS, _obj(ROLLOUT_BLOCKS, name, spec))

    # What clusters show

    async def shows(self, name: str, *kinds: str, sick: tuple[str, ...] = (), stale: bool = False) -> None:
        """Have targets say that what they ask for is there, except in clusters that are sick."""
        for kind in kinds:
            target = await self.host.get(TARGETS[kind], name, "default")
            named = [each if isinstance(each, str) else each["name"] for each in dig(target, "spec", "clusters")]
            rows = [{"name": each, "conditions": [_ready(each not in sick)]} for each in named]
            status: Obj = {"clusters": rows, "conditions": [_ready(not set(named) & set(sick))]}
            if kind != "it":
                status["observedGeneration"] = target["metadata"]["generation"] - stale
            await self.host.patch(TARGETS[kind], name, {"status": status}, "default", subresource="status")

    async def complete(self, name: str, last: int = 1) -> None:
        """Take a release to its last step."""
        await self.quiet()
        await self.go_to(name, last)
        for kinds in (("it",), ("ct",), ("tt",)):
            await self.shows(name, *kinds)
            await self.quiet()

    # What is stored

    async def get(self, kind: str, name: str) -> Obj | None:
        return await self.host.find({**TARGETS, "rel": RELEASES}[kind], name, "default")

    async def percents(self, name: str) -> dict[str, int]:
        return {each["name"]: each["percent"] for each in dig(await self.get("ct", name), "spec", "clusters")}

    async def weights(self, name: str) -> dict[str, int]:
        return {each["name"]: each["weight"] for each in dig(await self.get("tt", name), "spec", "clusters")}

    async def condition(self, name: str, kind: str) -> tuple[str, str, str] | None:
        release = await self.get("rel", name)
        for each in dig(release, "status", "conditions", default=()):
            if each["type"] == kind:
                return each["status"], each.get("reason", ""), each.get("message", "")
        return None


def environment(**changes: Any) -> Obj:
    """Return an environment of two steps in one cluster of the region `local`."""
    return {
        "chart": {"name": "nginx", "version": "0.0.1", "repoUrl": "https://charts"},
        "values": {},
        "clusterRequirements": {"regions": [{"name": "local"}]},
        "strategy": {"steps": [STAGING, FULL_ON]},
    } | changes


def _obj(resource: Any, name: str, spec: Obj) -> Obj:
    metadata: Obj = {"name": name, "namespace": "default"}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


def _without_rules(schema: Any) -> Any:
    """Return a definition without its CEL rules, which take most of the time and are tried elsewhere."""
    if isinstance(schema, list):
        return [_without_rules(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _without_rules(each) for name, each in schema.items() if name != "x-kubernetes-validations"}


def _ready(well: bool) -> Obj:
    message = "" if well else "InProgress"
    return {"type": "Ready", "status": str(well), "reason": message, "message": message}


@asynccontextmanager
async def stage(*clusters: str, start: bool = True) -> AsyncIterator[Stage]:
    """Open a host with these clusters of the region `local`, and run the controller unless it is started later."""
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    opened = Stage(server, runtime)
    try:
        for crd in (*SHIPPER_CRDS, PIECE_CRD, CLUSTER_CRD):
            await opened.host.create(CRDS, _without_rules(crd))
        await opened.application()
        for name in clusters:
            await opened.cluster(name)
        if start:
            opened.start()
        yield opened
    finally:
        await opened.kill()
        for each in (server, *opened.others):
            await each.close()
