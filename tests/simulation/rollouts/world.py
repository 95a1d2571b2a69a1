"""A federation of the region `local` whose traffic is watched, and whose control plane can die at any request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from hanse.api.shipper.kinds import APPLICATIONS, CLUSTERS_ANNOTATION, GENERATION_ANNOTATION, RELEASES
from hanse.apiserver import ApiServer
from hanse.cli.control_plane import prepare_host, run_control_plane, serve_applications
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, annotations_of, name_of
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Transport
from hanse.rollouts.sources import ManifestSources, Sources, SourceSettings
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.networking.providers import Provider
from hanse.simulator.settings import ClusterSettings
from tests.behaviour.rollouts import ByClient, achieved
from tests.simulation.random_federation import JudgedStorage
from tests.simulation.random_planes import Life, Mortal, Standstill
from tests.simulation.rollouts.applications import SEED_STEPS, application, packed, template_of
from tests.simulation.rollouts.traffic import TrafficWatch
from tests.simulation.world import ADMINISTRATOR, World

REGION_LABEL = "topology.kubernetes.io/region"
_DEAD_SECONDS = 1.0


class RolloutWorld(World):
    """Clusters of one region, and a team with an application or two."""

    def __init__(self, runtime: SeededRuntime, sources: Callable[[Client], Sources]) -> None:
        super().__init__(runtime)
        self.traffic = TrafficWatch(runtime.monotonic)
        self.life = Life(lambda: None)
        self._sources = sources
        self._standstill = Standstill()

    @property
    def people(self) -> ByClient:
        """Whoever writes to the federation."""
        return ByClient(self.host, "default")

    def inside(self, cluster: str) -> ByClient:
        """Return the way into a cluster."""
        return ByClient(self.clients[cluster], "default")

    async def enrol(self, name: str, labels: dict[str, str]) -> None:
        """Make a cluster a member of the region."""
        await super().enrol(name, {REGION_LABEL: "local", **labels})

    async def start(self, members: tuple[str, ...]) -> None:
        await self._open("host")
        await prepare_host(self.host)
        await serve_applications(self.host)
        for index, name in enumerate(members):
            await self.add_member(name, index)
        self.start_control_plane()
        for name in members:
            await self.until(lambda name=name: self.cluster_is(name, "Ready"))  # type: ignore[misc]

    async def add_member(self, name: str, index: int, provider: Provider = Provider.IP, **labels: str) -> None:
        """Start a small cluster and make it a member."""
        await self._open(name)
        settings = ClusterSettings(name=name, index=index, zones=("a",), nodes=1, load_balancers=provider)
        client = Client(self.servers[name].connect(ADMINISTRATOR), self.runtime, manager=SIMULATOR)
        self.clusters[name] = SimulatedCluster(client, settings, self.runtime)
        self._tasks.append(asyncio.create_task(self.clusters[name].run()))
        await self.clusters[name].ready()
        await self.enrol(name, labels)

    async def _open(self, name: str) -> None:
        storage = JudgedStorage(lambda change: self.traffic.note(name, change))
        self.servers[name] = await ApiServer.open(name=name, storage=storage, runtime=self.runtime)
        self.clients[name] = Client(self.servers[name].connect(ADMINISTRATOR), self.runtime, manager="kubectl")

    # A control plane that dies

    def start_control_plane(self) -> None:
        life = self.life = Life(self._end)
        host = Client(self._mortal("host", life), self.runtime)

        def connect(endpoint: Endpoint) -> Transport:
            return self._mortal(endpoint.server.removeprefix("https://"), life)

        working = run_control_plane(host, connect=connect, sources=self._sources(host))
        self._control_plane = asyncio.create_task(working)

    def _mortal(self, name: str, life: Life) -> Transport:
        return Mortal(self._wire(name), life, self._standstill, lambda _request: None)

    def _end(self) -> None:
        if self._control_plane is not None:
            self._control_plane.cancel()

    async def revive(self) -> None:
        """Start a control plane that has died anew, as whoever supervises it does."""
        if self.life.dead:
            await self.kill_control_plane()
            self.start_control_plane()

    async def pass_time(self) -> None:
        """Let a moment pass; a control plane that died in it is revived a little later."""
        await super().pass_time()
        if self.life.dead:
            await self.runtime.sleep(_DEAD_SECONDS)
            await self.revive()

    # What people do

    async def apply(self, version: str, *, name: str = "web", replicas: int = 3, **options: object) -> None:
        """Write an application, and the ConfigMap of this version of it."""
        await self.host.create(CONFIGMAPS, packed(version, name=name, replicas=replicas))
        await self.host.create(APPLICATIONS, application(version, name=name, **options))  # type: ignore[arg-type]

    async def upgrade(self, version: str, *, name: str = "web", replicas: int = 3) -> None:
        """Have an application become another version of itself."""
        if await self.host.find(CONFIGMAPS, f"{name}-{version}", "default") is None:
            await self.host.create(CONFIGMAPS, packed(version, name=name, replicas=replicas))
        await self.host.patch(APPLICATIONS, name, template_of(version, name), "default")

    async def go_to(self, release: str, step: int) -> None:
        """Ask for a step of a release."""
        await self.host.patch(RELEASES, release, {"spec": {"targetStep": step}}, "default")

    async def full_on(self, version: str, *, name: str = "web", **options: object) -> str:
        """Roll an application's first release out as far as it goes; returns its name."""
        await self.apply(version, name=name, **options)  # type: ignore[arg-type]
        release = await self.contender(name, 0)
        steps = options.get("steps", SEED_STEPS)
        last = len(steps) - 1  # type: ignore[arg-type]
        await self.go_to(release, last)
        await achieved(self.people, release, last, "full on")
        return release

    async def contender(self, name: str, generation: int) -> str:
        """Wait for the release of a generation; returns its name."""
        found: list[Obj] = []

        async def is_there() -> bool:
            found[:] = [each for each in await self.releases(name) if _generation(each) == generation]
            return bool(found)

        await self.until(is_there)
        return name_of(found[0])

    async def clusters_of(self, release: str) -> list[str]:
        """Wait until clusters were chosen for a release; returns them."""
        chosen = await self.people.until(
            RELEASES, release, lambda found: annotations_of(found).get(CLUSTERS_ANNOTATION)
        )
        return annotations_of(chosen)[CLUSTERS_ANNOTATION].split(",")

    async def releases(self, name: str = "web") -> list[Obj]:
        """Return an application's releases, the oldest first."""
        listed = await self.host.list(RELEASES, "default", labels=f"shipper-app={name}")
        return sorted(listed.items, key=_generation)


def from_config_maps(host: Client) -> Sources:
    """Return Hanse's own sources; those of ConfigMaps need neither Helm nor kubectl."""
    return ManifestSources(host, SourceSettings())


def _generation(release: Obj) -> int:
    return int(annotations_of(release).get(GENERATION_ANNOTATION, "-1"))


@asynccontextmanager
async def rollouts(
    *members: str, seed: int = 0, sources: Callable[[Client], Sources] = from_config_maps
) -> AsyncIterator[RolloutWorld]:
    """Run a federation for the length of a block, with clusters of the region `local`."""
    world = RolloutWorld(SeededRuntime(seed), sources)
    try:
        await world.start(members)
        yield world
    finally:
        await world.close()
