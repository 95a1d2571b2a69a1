"""A source and two targets on virtual time, with nothing between them but the door of whole Jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from hanse.api.admiralty.keys import JOB_MANAGER, POD_FINALIZER
from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import Cluster
from hanse.api.plain_kinds import JOBS
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.clusters.member import Member
from hanse.clusters.roster import Attachment
from hanse.kube.client import Client
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import PODS
from hanse.kube.runtime import SeededRuntime, timestamp
from hanse.pods.jobs.door import JobDoor
from hanse.propagation.engine import Engine
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.settings import ClusterSettings

ADMINISTRATOR = Identity("admin", ("system:masters",))


class FixedTargets:
    """Targets that are there from the beginning; tests lose and remove them."""

    def __init__(self, members: dict[str, Member], runtime: SeededRuntime) -> None:
        self._members = members
        self._runtime = runtime
        self._works: list[Attachment] = []
        self._listeners: list[Callable[[str], None]] = []
        free = {"cpu": "20", "memory": "64Gi", "pods": "300"}
        self._clusters = {name: Cluster(name, {"name": name}, ready=True, free=free) for name in members}

    def attach(self, work: Attachment) -> None:
        self._works.append(work)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)

    def clusters(self) -> Sequence[Cluster]:
        return [self._clusters[name] for name in sorted(self._clusters)]

    async def wait_synced(self) -> None:
        return None

    def targets(self) -> Sequence[TargetName]:
        return [TargetName("", name) for name in sorted(self._clusters)]

    def is_self(self, name: str) -> bool:
        return name == "home"

    def is_leaving(self, name: str) -> bool:
        return False

    def change(self, name: str, **fields: Any) -> None:
        since = timestamp(self._runtime.now())
        self._clusters[name] = replace(self._clusters[name], refused_since=since, **fields)
        self._tell(name)

    def make_room(self, name: str, cpu: str) -> None:
        """Have a cluster more free, of which nobody is told."""
        free = {**self._clusters[name].free, "cpu": cpu}
        self._clusters[name] = replace(self._clusters[name], free=free)

    def remove(self, name: str) -> None:
        del self._clusters[name]
        self._tell(name)

    def _tell(self, name: str) -> None:
        for listener in self._listeners:
            listener(name)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for work in self._works:
                for member in self._members.values():
                    tasks.create_task(work(member))


class JobWorld:
    """The clusters, and what tests ask of them."""

    def __init__(self, seed: int = 0) -> None:
        self.runtime = SeededRuntime(seed)
        self.servers: dict[str, ApiServer] = {}
        self.clients: dict[str, Client] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._plane: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        for index, name in enumerate(("home", "eu", "us")):
            self.servers[name] = await ApiServer.open(name=name, storage=MemoryStorage(), runtime=self.runtime)
            self.clients[name] = Client(self.servers[name].connect(ADMINISTRATOR), self.runtime, manager="kubectl")
            client = Client(self.servers[name].connect(ADMINISTRATOR), self.runtime, manager=SIMULATOR)
            cluster = SimulatedCluster(client, ClusterSettings(name=name, index=index, nodes=1, cpu="64"), self.runtime)
            self._tasks.append(asyncio.create_task(cluster.run()))
            await cluster.ready()
        self.start_plane()

    def start_plane(self) -> None:
        members = {name: Member(name, self._connect(name)) for name in ("home", "eu", "us")}
        self.targets = FixedTargets(members, self.runtime)
        doors = [JobDoor("home", self.targets)]
        engine = Engine(self._connect("home"), self.targets, doors, finalizer=POD_FINALIZER, guarded=False)
        self._plane = [asyncio.create_task(engine.run()), asyncio.create_task(self.targets.run())]

    async def kill_plane(self) -> None:
        for task in self._plane:
            task.cancel()
        await asyncio.gather(*self._plane, return_exceptions=True)

    def _connect(self, name: str) -> Client:
        return Client(self.servers[name].connect(ADMINISTRATOR, as_remote=True), self.runtime)

    async def close(self) -> None:
        await self.kill_plane()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in self.servers.values():
            await server.close()

    async def until(self, holds: Callable[[], Any], seconds: float = 60.0) -> None:
        start = self.runtime.monotonic()
        while not await holds():
            if self.runtime.monotonic() - start > seconds:
                raise AssertionError(f"not within {seconds} s of virtual time")
            await self.runtime.sleep(0.25)

    async def job(self, cluster: str = "home", name: str = "sum") -> Obj | None:
        return await self.clients[cluster].find(JOBS, name, "default")

    async def condition(self, kind: str, name: str = "sum") -> bool:
        conditions = dig(await self.job(name=name), "status", "conditions", default=[])
        return any(each["type"] == kind and each["status"] == "True" for each in conditions)

    async def told(self, text: str, name: str = "sum") -> bool:
        conditions = dig(await self.job(name=name), "status", "conditions", default=[])
        return any(text in each.get("message", "") for each in conditions)

    async def where(self, name: str = "sum") -> list[str]:
        """The targets that have a Job."""
        return [cluster for cluster in ("eu", "us") if await self.job(cluster, name) is not None]

    async def pods(self, cluster: str) -> list[Obj]:
        return (await self.clients[cluster].list(PODS, namespace="default")).items


def job(name: str = "sum", *, seconds: int = 5, template: dict[str, str] | None = None, **spec: Any) -> Obj:
    annotations = {"simulator.hanse.dev/run-seconds": str(seconds), **(template or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "managedBy": JOB_MANAGER,
            "parallelism": 2,
            "completions": 2,
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "sum:1"}]},
            },
            **spec,
        },
    }


@asynccontextmanager
async def jobs_elsewhere(seed: int = 0) -> AsyncIterator[JobWorld]:
    """Run a source and its targets for the length of a block."""
    world = JobWorld(seed)
    try:
        await world.start()
        yield world
    finally:
        await world.close()
