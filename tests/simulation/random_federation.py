"""A federation that a judge looks over: everything in it can break, and its control plane can die at any request."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from hanse.api.clusters import CLUSTERS
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.apiserver.answers import AnyAnswer
from hanse.apiserver.gate import Gate, Onward
from hanse.apiserver.storage import Change
from hanse.cli.control_plane import prepare_host, run_control_plane
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.runtime import Runtime, SeededRuntime
from hanse.kube.transport import Request, Response, Stream, Transport, Unreachable
from hanse.simulator.faults.breakable import BreakableCluster
from hanse.simulator.faults.clock import ClusterClock
from hanse.simulator.faults.gate import CONTROL_PLANE_USER
from hanse.simulator.faults.values import Fault
from hanse.simulator.settings import ClusterSettings
from tests.simulation.random_judge import AUTHOR, Judge
from tests.simulation.random_truth import HOST, Weather

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


@dataclass(slots=True)
class Life:
    """One life of the control plane: it ends at a request, before that is sent or before its answer is heard."""

    end: Callable[[], None]
    requests_left: int | None = None
    after: bool = False
    dead: bool = False

    def is_due(self) -> bool:
        """Count a request; True for the one at which life ends."""
        if self.requests_left is None:
            return False
        self.requests_left -= 1
        return self.requests_left <= 0


class Mortal:
    """A transport of the control plane, through which nothing passes once it is dead."""

    def __init__(self, inner: Transport, life: Life, note: Callable[[Request], None]) -> None:
        self._inner = inner
        self._life = life
        self._note = note

    @property
    def address(self) -> str:
        return self._inner.address

    async def send(self, request: Request, timeout: float) -> Response:
        due = self._begin()
        self._note(request)
        if due and not self._life.after:
            self._die()
        response = await self._inner.send(request, timeout)
        if due:
            self._die()
        return response

    async def stream(self, request: Request, timeout: float) -> Stream:
        if self._begin():
            self._die()
        return await self._inner.stream(request, timeout)

    async def close(self) -> None:
        await self._inner.close()

    def _begin(self) -> bool:
        if self._life.dead:
            raise Unreachable(self.address, "whoever asked is dead")
        return self._life.is_due()

    def _die(self) -> None:
        self._life.dead = True
        self._life.end()
        raise Unreachable(self.address, "whoever asked has just died")


class RandomMember:
    """One cluster: its server, and a user's way into it that no fault stands in."""

    def __init__(self, server: ApiServer, settings: ClusterSettings, clock: ClusterClock) -> None:
        self.settings = settings
        self.server = server
        self.breakable = BreakableCluster(server, settings, clock, self, work=_WORK_SECONDS)
        self.client = Client(server.connect(_USER), clock, manager="kubectl")
        server.gate = signed(server.gate)

    async def stop(self) -> None:
        await self.server.stop_serving()

    async def start(self) -> None:
        self.server.resume()


class RandomFederation:
    """A host, its members, a control plane, and the judge."""

    def __init__(self, seed: int) -> None:
        self.runtime = SeededRuntime(seed)
        # The clock of the host and of the control plane, which a person may set wrongly.
        self.clock = ClusterClock(self.runtime)
        self.judge = Judge(CONTROL_PLANE_USER, self.runtime.monotonic)
        self.members: dict[str, RandomMember] = {}
        self.digest = 0
        self.started_at = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        self._control_plane: asyncio.Task[None] | None = None
        self._life = Life(lambda: None)

    async def start(self, members: tuple[str, ...], labels: Callable[[], dict[str, str]]) -> None:
        """Start everything and have every cluster join."""
        self.server = await self._open(HOST, self.clock)
        self.server.gate = signed(None)
        self.host = Client(self.server.connect(_USER), self.clock, manager="kubectl")
        await prepare_host(self.host)
        for name in members:
            await self.join(name, labels())
        self.start_control_plane()

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
        now, weather = self.runtime.monotonic(), self.judge.truth.weather.setdefault(name, Weather())
        if faults and not weather.broken and now - weather.calm_since > 0:
            weather.since = now
        if weather.broken and not faults:
            weather.calm_since = now
        weather.broken = bool(faults)
        self.members[name].breakable.breakage.set(faults)

    # The control plane's lives

    def start_control_plane(self) -> None:
        """Start it with nothing but what the servers hold."""
        life = Life(self._end)
        self._life, self.started_at = life, self.runtime.monotonic()

        def way_to(name: str, server: ApiServer) -> Transport:
            inner = server.connect(_CONTROL_PLANE, as_remote=True)
            return Mortal(inner, life, lambda request: self.judge.note_request(name, request))

        def connect(endpoint: Endpoint) -> Transport:
            name = endpoint.server.removeprefix("https://")
            return way_to(name, self.members[name].server)

        host = Client(way_to(HOST, self.server), self.clock)
        self._control_plane = asyncio.create_task(run_control_plane(host, connect=connect))

    def doom(self, requests: int, *, after: bool) -> None:
        """Let the control plane die at a request from now on: before it is sent, or before its answer is heard."""
        self._life.requests_left, self._life.after = requests, after

    @property
    def alive(self) -> bool:
        """Whether the control plane lives."""
        return self._control_plane is not None and not self._control_plane.done() and not self._life.dead

    async def revive(self) -> None:
        """Start the control plane anew if it died; anything else that ended it is its own fault."""
        if self.alive:
            return
        task, self._control_plane = self._control_plane, None
        if task is not None:
            (ended,) = await asyncio.gather(task, return_exceptions=True)
            if not self._life.dead:
                self.judge.blame(f"crash and converge: the control plane ended by itself: {ended!r}")
        self.start_control_plane()

    def _end(self) -> None:
        if self._control_plane is not None:
            self._control_plane.cancel()

    async def close(self) -> None:
        """End everything."""
        self._life.dead = True
        tasks = [*self._tasks, *([self._control_plane] if self._control_plane else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for server in [self.server, *(member.server for member in self.members.values())]:
            await server.close()

    async def _open(self, name: str, runtime: Runtime) -> ApiServer:
        def tell(change: Change) -> None:
            told = f"{self.runtime.monotonic():.3f} {name} {change.bucket} {change.path}".encode()
            self.digest = zlib.crc32(change.value, zlib.crc32(told, self.digest))
            self.judge.hear(name, change)

        return await ApiServer.open(name=name, storage=JudgedStorage(tell), runtime=runtime)


@asynccontextmanager
async def random_federation(
    seed: int, members: tuple[str, ...], labels: Callable[[], dict[str, str]]
) -> AsyncIterator[RandomFederation]:
    """Run a federation for the length of a block, on a loop whose clock jumps."""
    federation = RandomFederation(seed)
    try:
        await federation.start(members, labels)
        yield federation
    finally:
        await federation.close()
