"""A federation with a source, clusters that are registered and some that are not, all embedded and on virtual time."""

import asyncio
import base64
from contextlib import asynccontextmanager

import yaml

from hanse.api.admiralty.definitions import CLUSTER_SUMMARY_CRD, CLUSTER_TARGET_CRD, POD_CHAPERON_CRD, TARGET_CRD
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, POD_CHAPERONS, TARGETS
from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.clusters.health import HealthTerms
from hanse.clusters.joining import join, joining_manifests
from hanse.clusters.kubeconfigs import kubeconfig_document
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.errors import AlreadyExists
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import dig
from hanse.kube.resources import CRDS, NAMESPACES, SECRETS, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.pods.chaperons.makers import Makers
from hanse.pods.targets.board import Board
from hanse.pods.targets.roster import HostRoster, TargetRoster
from tests.simulation.world import Wire

ADMINISTRATOR = Identity("admin", ("system:masters",))
SOURCE = "home"
# What each cluster needs of the definitions in these tests; to check them all takes longer than most of the tests.
IN_TARGETS = (POD_CHAPERON_CRD, CLUSTER_SUMMARY_CRD)
PRIVATE_SERVER = "https://{}.example"


# The health of registered clusters is the registry's matter; it is not asked about all the time here.
SELDOM = HealthTerms(period_seconds=20.0)


class Stage:
    """Servers, ways to them that can be cut, and whatever of the control plane a test starts."""

    def __init__(self):
        self.runtime = SeededRuntime(0)
        self.servers = {}
        self.clients = {}
        self.wires = {}
        self.registry = self.board = self.roster = None
        self._tasks = []
        self.heard = []

    @property
    def source(self):
        return self.clients[SOURCE]

    async def open(self, name, *definitions):
        self.servers[name] = await ApiServer.open(name=name, storage=MemoryStorage(), runtime=self.runtime)
        client = self.clients[name] = Client(self.servers[name].connect(ADMINISTRATOR), self.runtime, manager="kubectl")
        for crd in definitions or IN_TARGETS:
            await client.create(CRDS, crd)
        return client

    def connect(self, endpoint):
        """The control plane's way to a server as whoever the token says; what was done to it outlives connections."""
        name = endpoint.server.removeprefix("https://").removesuffix(".example")
        who = Identity(endpoint.token, ("system:authenticated",)) if endpoint.token else ADMINISTRATOR
        inner = self.servers[name].connect(who, as_remote=True)
        wire = self.wires.setdefault(name, Wire(inner, self.runtime))
        wire.inner = inner
        return wire

    def wire(self, name):
        return Client(self.connect(Endpoint(f"https://{name}")), self.runtime)

    def start(self, work):
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def end(self, *tasks):
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self):
        await self.end(*self._tasks)
        for server in self.servers.values():
            await server.close()

    async def begin(self, *members):
        """Start a host on which these clusters are registered, and the registry."""
        host = await self.open("host", CLUSTER_CRD)
        await self.namespace("host", SYSTEM_NAMESPACE)
        for name in members:
            if name not in self.servers:
                await self.open(name)
            await join(host, joining_manifests(name, Endpoint(f"https://{name}"), {"where": name}))
        self.registry, self.board = Registry(self.wire("host"), self.connect, SELDOM), Board(Makers())
        self.registry.attach(self.board.serve)
        self.start(self.registry.run())
        await self.registry.wait_synced()

    def enlist(self):
        """Start a roster of the source's targets as a control plane would that has just begun."""
        roster = TargetRoster(SOURCE, self.wire(SOURCE), self.registry, self.board, self.connect)
        self.heard = []
        roster.subscribe(self.heard.append)
        self.roster = roster
        return self.start(roster.run())

    async def govern(self, make_parts=lambda _roster: None):
        """Start a registry anew, with a roster of the federation's own and whatever is made of it."""
        registry = Registry(self.wire("host"), self.connect, SELDOM)
        roster = HostRoster(registry, self.clients["host"])
        make_parts(roster)
        self.start(registry.run())
        await roster.wait_synced()
        return roster

    # What people do

    async def make(here, name, namespace="", /, **spec):  # noqa: N805 - a target may be `self`
        resource = TARGETS if namespace else CLUSTER_TARGETS
        return await here.source.create(resource, made(resource, name, namespace, spec=spec))

    async def credentials(self, name, server, *, user="", key="config", **others):
        endpoint = Endpoint(PRIVATE_SERVER.format(server), token=user, insecure=True)
        text = yaml.safe_dump(kubeconfig_document({"there": endpoint, **others}, "there"))
        data = {key: base64.b64encode(text.encode()).decode()}
        await self.source.apply(SECRETS, {**made(SECRETS, name, "default"), "data": data})

    async def namespace(self, cluster, name):
        try:
            await self.clients[cluster].create(NAMESPACES, made(NAMESPACES, name))
        except AlreadyExists:
            return

    # What tests ask

    async def until(self, holds, seconds=60.0):
        start = self.runtime.monotonic()
        while not (found := holds() if not asyncio.iscoroutinefunction(holds) else await holds()):
            assert self.runtime.monotonic() < start + seconds, f"not in time: {found!r}"
            await self.runtime.sleep(0.1)
        return self.runtime.monotonic() - start

    def seen(self, name):
        return next((cluster for cluster in self.roster.clusters() if cluster.name == name), None)

    def is_ready(self, *names):
        return all((cluster := self.seen(name)) is not None and not cluster.refusal for name in names)

    async def ready(self, *names):
        await self.roster.wait_synced()
        return await self.until(lambda: self.is_ready(*names) and all(map(self.roster.member, names)))

    async def condition(self, name, namespace="", kind="Ready"):
        obj = await self.source.get(TARGETS if namespace else CLUSTER_TARGETS, name, namespace)
        return find_condition(dig(obj, "status", "conditions"), kind) or {}

    def forget_writes(self):
        for wire in self.wires.values():
            wire.writes.clear()

    def writes(self):
        return {name: list(wire.writes) for name, wire in self.wires.items() if wire.writes}


@asynccontextmanager
async def stage(*members):
    """Run a host, a source and registered clusters for the length of a block."""
    here = Stage()
    try:
        await here.open(SOURCE, TARGET_CRD, CLUSTER_TARGET_CRD, POD_CHAPERON_CRD)
        await here.begin(SOURCE, *members)
        yield here
    finally:
        await here.close()


def made(resource: Resource, name, namespace="", **content):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **content}


def chaperon(name, namespace="default", *, labels=None, annotations=None):
    obj = made(POD_CHAPERONS, name, namespace, spec={"containers": [{"name": "main", "image": "web"}]})
    obj["metadata"] |= {"labels": labels or {}, "annotations": annotations or {}}
    return obj
