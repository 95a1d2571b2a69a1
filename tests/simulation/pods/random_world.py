"""A federation one of whose clusters sends its pods elsewhere, in which everything can break, behind a judge."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from hanse.api.admiralty.definitions import ADMIRALTY_CRDS
from hanse.api.admiralty.keys import ENABLED, NAMESPACE_LABEL, PODS_DOOR
from hanse.api.admiralty.kinds import CLUSTER_TARGETS, TARGETS
from hanse.api.admiralty.names import TargetName
from hanse.api.clusters import CLUSTERS, DOORS_ANNOTATION
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.apiserver import ApiServer, Identity
from hanse.apiserver.storage import Change
from hanse.cli.control_plane import prepare_host, run_control_plane
from hanse.clusters.joining import join, joining_manifests
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj
from hanse.kube.resources import NAMESPACES, Resource
from hanse.kube.runtime import Runtime, SeededRuntime
from hanse.kube.transport import Transport
from hanse.pods.admission.manifests import admission_manifests
from hanse.pods.chaperons.keeper import ChaperonKeeper
from hanse.pods.installing.opening import write_into
from hanse.simulator.faults.clock import ClusterClock
from hanse.simulator.faults.gate import CONTROL_PLANE_USER, NODES_USER
from hanse.simulator.faults.values import Fault
from hanse.simulator.settings import ClusterSettings
from tests.simulation.pods.random_judge import PodJudge
from tests.simulation.pods.world import InProcessAdmission
from tests.simulation.random_federation import JudgedStorage, RandomMember, signed
from tests.simulation.random_host import HostGate
from tests.simulation.random_planes import Plane
from tests.simulation.random_truth import HOST
from tests.simulation.tally import note_fault

HOME = "home"
_USER = Identity("user", ("system:masters",))
_CONTROL_PLANE = Identity(CONTROL_PLANE_USER, ("system:masters",))
_SYSTEM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}


class PodPlane(Plane):
    """A control plane with the door of pods."""

    async def _work(self, host: Client, connect: Callable[[Endpoint], Transport]) -> None:
        await run_control_plane(host, connect=connect, pods=True)


@dataclass(frozen=True, slots=True)
class Aim:
    """A target of the source: its name there, and the cluster behind it."""

    name: TargetName
    cluster: str

    @property
    def kind(self) -> Resource:
        """Which of the two it is."""
        return TARGETS if self.name.namespace else CLUSTER_TARGETS

    @property
    def manifest(self) -> Obj:
        """The Target or ClusterTarget."""
        kind = self.kind
        metadata = {"name": self.name.name, **({"namespace": self.name.namespace} if self.name.namespace else {})}
        spec = {"self": True} if self.cluster == HOME else {"clusterName": self.cluster}
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}


class PodFederation:
    """A host, a source, targets, a control plane, and the judge."""

    def __init__(self, seed: int) -> None:
        self.runtime = SeededRuntime(seed)
        self.clock = ClusterClock(self.runtime)
        self.judge = PodJudge(self.runtime.monotonic)
        self.members: dict[str, RandomMember] = {}
        self.digest = 0
        self._tasks: list[asyncio.Task[None]] = []
        self.plane = PodPlane("plane", self.clock, self._reach, self.judge.note_request)

    @property
    def home(self) -> Client:
        """A user's way to the source, in which no fault stands."""
        return self.members[HOME].client

    async def start(self, aims: Sequence[Aim]) -> None:
        """Start everything and open the door."""
        self.server = await self._open(HOST, self.clock)
        self.host_gate = HostGate(self.server, self.clock, lambda _broken: None)
        self.server.gate = signed(self.host_gate)
        self.host = Client(self.server.connect(_USER), self.clock, manager="kubectl")
        await prepare_host(self.host)
        for name in dict.fromkeys((HOME, *(aim.cluster for aim in aims))):
            await self._join(name)
        await self._open_door(aims)
        self.plane.start()

    async def _join(self, name: str) -> None:
        settings = ClusterSettings(name=name, index=len(self.members), zones=(f"{name}-a",), nodes=1)
        clock = ClusterClock(self.runtime)
        member = self.members[name] = RandomMember(await self._open(name, clock), settings, clock)
        self._tasks.append(asyncio.create_task(member.breakable.run()))
        await member.breakable.cluster.ready()
        await write_into(member.client, [*ADMIRALTY_CRDS, _SYSTEM])
        await join(self.host, joining_manifests(name, Endpoint(f"https://{name}"), {}))

    async def _open_door(self, aims: Sequence[Aim]) -> None:
        self.admission = InProcessAdmission(HOME, self.home)
        self.members[HOME].server._core.hooks.client = self.admission  # type: ignore[assignment]
        webhooks = admission_manifests("https://admission", b"", own=(CONTROL_PLANE_USER, NODES_USER))
        await write_into(self.home, [*(aim.manifest for aim in aims), *webhooks])
        await self.home.patch(NAMESPACES, "default", {"metadata": {"labels": {NAMESPACE_LABEL: ENABLED}}})
        await self.host.patch(CLUSTERS, HOME, {"metadata": {"annotations": {DOORS_ANNOTATION: PODS_DOOR}}})

    def set_faults(self, name: str, faults: tuple[Fault, ...]) -> None:
        """Say what is wrong with a member from now on."""
        self.members[name].set_faults(faults)

    async def keep_twice(self, seconds: float) -> None:
        """Have every cluster's chaperons kept by one more keeper for a while, as while the lead changes."""
        note_fault("two keepers")
        keepers = [ChaperonKeeper(Client(self._reach(name), self.clock)) for name in self.members]
        tasks = [asyncio.create_task(keeper.run()) for keeper in keepers]
        try:
            await self.runtime.sleep(seconds)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def revive(self) -> None:
        """Start the control plane anew if it died; anything else that ended it is its own fault."""
        if self.plane.alive:
            return
        ended = await self.plane.bury()
        if ended is not None:
            self.judge.blame(f"crash and converge: the control plane ended by itself: {ended!r}")
        self.plane.start()

    async def close(self) -> None:
        """End everything."""
        await self.plane.kill()
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
async def pod_federation(seed: int, aims: Sequence[Aim]) -> AsyncIterator[PodFederation]:
    """Run a federation for the length of a block, on a loop whose clock jumps."""
    federation = PodFederation(seed)
    try:
        await federation.start(aims)
        yield federation
    finally:
        await federation.close()
