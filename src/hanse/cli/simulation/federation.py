"""A federation on virtual time, put together from the same parts as a real one; only the sockets are left out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from hanse.api.kubefed.forms import Form
from hanse.api.names import REGION_LABEL, ZONE_LABEL
from hanse.apiserver import ApiServer, Identity
from hanse.cli.control_plane import prepare_host, run_control_plane, serve_federated_types
from hanse.cli.simulation.event_log import EventLog, RecordedStorage
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.runtime import Runtime
from hanse.kube.transport import Transport
from hanse.simulator.faults.breakable import BreakableCluster
from hanse.simulator.faults.clock import ClusterClock
from hanse.simulator.faults.gate import CONTROL_PLANE_USER
from hanse.simulator.faults.schedule import Planned, steps_of
from hanse.simulator.settings import ClusterSettings

HOST = "federation"
# How long an API server takes over a request.
_WORK_SECONDS = 0.002
_MASTERS = ("system:masters",)
_USER = Identity("user", _MASTERS)
_CONTROL_PLANE = Identity(CONTROL_PLANE_USER, _MASTERS)


class VirtualMember:
    """One cluster: its server, and a user's way into it that no fault stands in."""

    def __init__(self, server: ApiServer, settings: ClusterSettings, clock: ClusterClock) -> None:
        self.server = server
        self.breakable = BreakableCluster(server, settings, clock, self, work=_WORK_SECONDS)
        self.client = Client(server.connect(_USER), clock, manager="kubectl")

    async def stop(self) -> None:
        """End the API server, as a crash does."""
        await self.server.stop_serving()

    async def start(self) -> None:
        """Let the API server answer again."""
        self.server.resume()


class VirtualFederation:
    """A host, its members, and a control plane that can be killed and started."""

    def __init__(
        self, clusters: Sequence[ClusterSettings], runtime: Runtime, log: EventLog, *, forms: Sequence[Form] = ()
    ) -> None:
        """Federated types are served in these `forms` of KubeFed's API; without any, plain objects alone."""
        self.runtime = runtime
        self.log = log
        self.members: dict[str, VirtualMember] = {}
        self._settings = clusters
        self._forms = tuple(forms)
        self._tasks: list[asyncio.Task[None]] = []
        self._control_plane: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start everything and have every cluster join; returns when all of them are ready."""
        self.server = await self._open(HOST, self.runtime)
        self.host = Client(self.server.connect(_USER), self.runtime, manager="kubectl")
        await prepare_host(self.host)
        if self._forms:
            await serve_federated_types(self.host, self._forms)
        for settings in self._settings:
            clock = ClusterClock(self.runtime)
            member = VirtualMember(await self._open(settings.name, clock), settings, clock)
            self.members[settings.name] = member
            self._tasks.append(asyncio.create_task(member.breakable.run()))
        for name, member in self.members.items():
            await member.breakable.cluster.ready()
            await join(self.host, joining_manifests(name, Endpoint(f"https://{name}"), _labels(member)))
        self.start_control_plane()

    def start_control_plane(self) -> None:
        """Start the control plane with nothing but what the servers hold."""
        host = Client(self.server.connect(_CONTROL_PLANE, as_remote=True), self.runtime)
        work = run_control_plane(host, connect=self._connect, federated_types=bool(self._forms))
        self._control_plane = asyncio.create_task(work)

    async def kill_control_plane(self) -> None:
        """End the control plane wherever it is; what it did not write is lost."""
        task, self._control_plane = self._control_plane, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def play(self, schedule: Sequence[Planned]) -> None:
        """Have the faults of a schedule happen at their times, counted from now."""
        begin = self.runtime.monotonic()
        for step in steps_of(schedule):
            await self.runtime.sleep(max(0.0, begin + step.at - self.runtime.monotonic()))
            self.members[step.cluster].breakable.breakage.set(step.faults)
            told = "; ".join(str(fault) for fault in step.faults) or "none"
            self.log.add(self.runtime.monotonic(), step.cluster, f"faults: {told}", notable=True)

    def check_alive(self) -> None:
        """Raise what ended any part of the federation that should still run."""
        parts = [*self._tasks, *([self._control_plane] if self._control_plane else [])]
        for task in parts:
            if task.done():
                task.result()

    async def close(self) -> None:
        """End everything."""
        await self.kill_control_plane()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in [self.server, *(member.server for member in self.members.values())]:
            await server.close()

    def _connect(self, endpoint: Endpoint) -> Transport:
        name = endpoint.server.removeprefix("https://")
        return self.members[name].server.connect(_CONTROL_PLANE, as_remote=True)

    async def _open(self, name: str, runtime: Runtime) -> ApiServer:
        return await ApiServer.open(name=name, storage=RecordedStorage(name, self.log), runtime=runtime)


@asynccontextmanager
async def virtual_federation(
    clusters: Sequence[ClusterSettings], runtime: Runtime, log: EventLog | None = None, *, forms: Sequence[Form] = ()
) -> AsyncIterator[VirtualFederation]:
    """Run a federation for the length of a block, on a loop whose clock jumps."""
    federation = VirtualFederation(clusters, runtime, log or EventLog(), forms=forms)
    try:
        await federation.start()
        yield federation
    finally:
        await federation.close()


def _labels(member: VirtualMember) -> dict[str, str]:
    settings = member.breakable.settings
    labels = dict(settings.labels)
    if settings.region:
        labels.setdefault(REGION_LABEL, settings.region)
    if settings.zones:
        labels.setdefault(ZONE_LABEL, settings.zones[0])
    return labels
