"""A federation that a judge looks over: everything in it can break, and its control planes can die at any request."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from hanse.api.clusters import CLUSTERS
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.apiserver.answers import AnyAnswer
from hanse.apiserver.gate import Gate, Onward
from hanse.apiserver.storage import Change
from hanse.cli.control_plane import prepare_host
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.runtime import Runtime, SeededRuntime
from hanse.kube.transport import Request, Transport
from hanse.simulator.faults.breakable import BreakableCluster
from hanse.simulator.faults.clock import ClusterClock
from hanse.simulator.faults.gate import CONTROL_PLANE_USER
from hanse.simulator.faults.values import Fault
from hanse.simulator.settings import ClusterSettings
from tests.simulation.random_host import HostGate
from tests.simulation.random_judge import AUTHOR, Judge
from tests.simulation.random_planes import Plane
from tests.simulation.random_truth import HOST
from tests.simulation.tally import note_fault

_WORK_SECONDS = 0.002
_USER = Identity("user", ("system:masters",))
_CONTROL_PLANE = Identity(CONTROL_PLANE_USER, ("system:masters",))


class JudgedStorage(MemoryStorage):
    """A storage whose every change is told before anybody else hears of it."""

    def __init__(self, tell: Callable[[Change], None]) -> None:
        super().__init__()
        self._tell = tell

    async def open(self, runtime: Runtime, publish: Callable[[Change], None]) -> None:
        def told(change: Change) -> None:
            self._tell(change)
            publish(change)

        await super().open(runtime, told)


def signed(gate: Gate | None) -> Gate:
    """Return a gate that notes who sent each request, while it is carried out, and is otherwise the one behind it."""

    async def enter(request: Request, identity: Identity, onward: Onward) -> AnyAnswer:
        async def noted(asked: Request) -> AnyAnswer:
            token = AUTHOR.set(identity.user)
            try:
                return await onward(asked)
            finally:
                AUTHOR.reset(token)

        return await gate(request, identity, noted) if gate is not None else await noted(request)

    return enter


class RandomMember:
    """One cluster: its server, and a user's way into it that no fault stands in."""

    def __init__(self, server: ApiServer, settings: ClusterSettings, clock: ClusterClock) -> None:
        self.settings = settings
        self.server = server
        self.breakable = BreakableCluster(server, settings, clock, self, work=_WORK_SECONDS)
        self.client = Client(server.connect(_USER), clock, manager="kubectl")
        self._faults: tuple[Fault, ...] = ()
        server.gate = signed(server.gate)

    def set_faults(self, faults: tuple[Fault, ...]) -> None:
        """Say what is wrong with it from now on."""
        for fault in faults:
            if fault not in self._faults:
                note_fault(fault.kind)
        self._faults = faults
        self.breakable.breakage.set(faults)

    async def stop(self) -> None:
        await self.server.stop_serving()

    async def start(self) -> None:
        self.server.resume()


class RandomFederation:
    """A host, its members, control planes, and the judge."""

    def __init__(self, seed: int, planes: int = 1) -> None:
        """With more than one of the `planes` they elect a leader by Lease."""
        self.runtime = SeededRuntime(seed)
        # The clock of the host and of the control planes, which a person may set wrongly.
        self.clock = ClusterClock(self.runtime)
        self.judge = Judge(CONTROL_PLANE_USER, self.runtime.monotonic, elected=planes > 1)
        self.members: dict[str, RandomMember] = {}
        self.digest = 0
        self._tasks: list[asyncio.Task[None]] = []
        self.planes = tuple(
            Plane(f"plane-{number}", self.clock, self._reach, self.judge.note_request, campaigns=planes > 1)
            for number in range(planes)
        )

    async def start(self, members: tuple[str, ...], labels: Callable[[], dict[str, str]]) -> None:
        """Start everything and have every cluster join."""
        self.server = await self._open(HOST, self.clock)
        self.host_gate = HostGate(self.server, self.clock, self._note_host_trouble)
        self.server.gate = signed(self.host_gate)
        self.host = Client(self.server.connect(_USER), self.clock, manager="kubectl")
        await prepare_host(self.host)
        for name in members:
            await self.join(name, labels())
        await self.revive()

    def _note_host_trouble(self, broken: bool) -> None:
        self.judge.truth.note_weather(HOST, self.runtime.monotonic(), broken=broken)

    async def join(self, name: str, labels: dict[str, str]) -> None:
        """Have a cluster join, a new one if there is none of that name."""
        if name not in self.members:
            settings = ClusterSettings(name=name, index=len(self.members), zones=(f"{name}-a",), nodes=1)
            clock = ClusterClock(self.runtime)
            member = RandomMember(await self._open(name, clock), settings, clock)
            self.members[name] = member
            self.judge.truth.objects.setdefault(name, {})
            self._tasks.append(asyncio.create_task(member.breakable.run()))
            await member.breakable.cluster.ready()
        token = f"token-of-{name}"
        self.judge.secrets.append(token.encode())
        await join(self.host, joining_manifests(name, Endpoint(f"https://{name}", token=token), labels))

    async def leave(self, name: str) -> None:
        """Take a cluster off the registry; what it has stays in it."""
        await self.host.delete(CLUSTERS, name)

    def set_faults(self, name: str, faults: tuple[Fault, ...]) -> None:
        """Say what is wrong with a member from now on."""
        self.judge.truth.note_weather(name, self.runtime.monotonic(), broken=bool(faults))
        self.members[name].set_faults(faults)

    # The control planes' lives

    @property
    def alive(self) -> bool:
        """Whether every control plane lives."""
        return all(plane.alive for plane in self.planes)

    @property
    def leader(self) -> Plane:
        """The control plane that works, the first where none does."""
        holder = self.judge.truth.holder
        return next((plane for plane in self.planes if plane.identity == holder), self.planes[0])

    def doom(self, requests: int, *, after: bool) -> None:
        """Let the working control plane die at a request from now on."""
        self.leader.doom(requests, after=after)

    async def revive(self) -> None:
        """Start what died anew; anything else that ended a control plane is its own fault."""
        for plane in self.planes:
            if plane.alive:
                continue
            ended = await plane.bury()
            if ended is not None:
                self.judge.blame(f"crash and converge: {plane.identity} ended by itself: {ended!r}")
            self.judge.truth.begun_at = self.runtime.monotonic()
            plane.start()

    async def close(self) -> None:
        """End everything."""
        for plane in self.planes:
            await plane.kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in [self.server, *(member.server for member in self.members.values())]:
            await server.close()

    def _reach(self, name: str) -> Transport:
        server = self.server if name == HOST else self.members[name].server
        return server.connect(_CONTROL_PLANE, as_remote=True)

    async def _open(self, name: str, runtime: Runtime) -> ApiServer:
        def tell(change: Change) -> None:
            told = f"{self.runtime.monotonic():.3f} {name} {change.bucket} {change.path}".encode()
            self.digest = zlib.crc32(change.value, zlib.crc32(told, self.digest))
            self.judge.hear(name, change)

        return await ApiServer.open(name=name, storage=JudgedStorage(tell), runtime=runtime)


@asynccontextmanager
async def random_federation(
    seed: int, members: tuple[str, ...], labels: Callable[[], dict[str, str]], planes: int = 1
) -> AsyncIterator[RandomFederation]:
    """Run a federation for the length of a block, on a loop whose clock jumps."""
    federation = RandomFederation(seed, planes)
    try:
        await federation.start(members, labels)
        yield federation
    finally:
        await federation.close()
