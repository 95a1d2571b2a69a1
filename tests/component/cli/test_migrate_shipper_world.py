"""A Shipper taken over on simulated clusters: the pods stay the pods, and the next release is rolled out by Hanse."""

import asyncio
from contextlib import suppress

import pytest

from hanse.api.pieces import PIECES, PIECES_ANNOTATION, RENDERING_ANNOTATION
from hanse.api.shipper.kinds import APPLICATIONS, CAPACITY_TARGETS, INSTALLATION_TARGETS, RELEASES, TRAFFIC_TARGETS
from hanse.cli.control_plane import prepare_host, run_control_plane, serve_applications
from hanse.cli.migrating_shipper import read_cluster_plans, read_migration, take_over
from hanse.clusters.member import Member
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import annotations_of, dig, labels_of, name_of, uid_of
from hanse.kube.resources import CONFIGMAPS, DEPLOYMENTS, PODS, SERVICES
from hanse.kube.runtime import SeededRuntime
from hanse.rollouts.sources import ManifestSources, SourceSettings
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.settings import ClusterSettings
from tests.component.cli.shipper_world import APP, NAMES, REPLICAS, SHOP, install
from tests.component.cli.test_migrate_crashes import Killed, Life, Mortal
from tests.simulation.rollouts.applications import packed
from tests.simulation.world import ADMINISTRATOR, World

pytestmark = pytest.mark.looptime

MEMBERS = ("a",)
ENABLED = {"shipper-traffic-status": "enabled"}
_MOST_LIVES = 60


class ShipperWorld(World):
    """A management cluster that was Shipper's, and its clusters; no control plane runs at first."""

    async def start(self, members):
        await self._open("host")
        await prepare_host(self.host)
        for name in members:
            await self.add_small_cluster(name)
        endpoints = {name: Endpoint(f"https://{name}") for name in members}
        await install(self.host, {name: self.clients[name] for name in members}, endpoints)
        await self.until(self.pods_run)
        for name in members:
            for pod in await self.pods(name):
                await self.clients[name].patch(PODS, name_of(pod), {"metadata": {"labels": ENABLED}}, SHOP)

    async def add_small_cluster(self, name):
        """Start a cluster; the take-over makes it a member."""
        await self._open(name)
        settings = ClusterSettings(name=name, index=0, zones=("a",), nodes=1)
        client = Client(self.servers[name].connect(ADMINISTRATOR), self.runtime, manager=SIMULATOR)
        self.clusters[name] = SimulatedCluster(client, settings, self.runtime)
        self._tasks.append(asyncio.create_task(self.clusters[name].run()))
        await self.clusters[name].ready()

    def start_control_plane(self):
        host = Client(self._wire("host"), self.runtime)
        work = run_control_plane(
            host,
            connect=lambda endpoint: self._wire(endpoint.server.removeprefix("https://")),
            plain_objects=False,
            sources=ManifestSources(host, SourceSettings()),
        )
        self._control_plane = asyncio.create_task(work)

    async def pods(self, cluster):
        return (await self.clients[cluster].list(PODS, SHOP)).items

    async def pods_run(self):
        pods = [pod for name in MEMBERS for pod in await self.pods(name)]
        ready = [pod for pod in pods if is_true(dig(pod, "status", "conditions"), "Ready")]
        return len(ready) == REPLICAS * len(MEMBERS)

    async def migrate(self):
        """Take over by processes of which each dies after one write; returns what the last one found."""
        await serve_applications(self.host)
        for _ in range(_MOST_LIVES):
            life = Life(1)
            host, *clients = (self._mortal(name, life) for name in ("host", *MEMBERS))
            members = {name: Member(name, client) for name, client in zip(MEMBERS, clients, strict=True)}
            migration = await read_migration(host, await read_cluster_plans(host), members)
            if migration.is_done:
                return migration
            with suppress(Killed):
                await take_over(host, migration, members)
            await self.require_whole_releases()
        raise AssertionError("it is never done")

    def _mortal(self, name, life):
        return Client(Mortal(self.servers[name].connect(ADMINISTRATOR), life), self.runtime)

    async def require_whole_releases(self):
        """Whatever an InstallationTarget names is there, and of the same rendering."""
        pieces = {name_of(each): each for each in (await self.host.list(PIECES, SHOP)).items}
        for target in (await self.host.list(INSTALLATION_TARGETS, SHOP)).items:
            told = annotations_of(target)
            for name in told[PIECES_ANNOTATION].split(",") if PIECES_ANNOTATION in told else ():
                assert annotations_of(pieces[name])[RENDERING_ANNOTATION] == told[RENDERING_ANNOTATION]

    async def running(self):
        """Everything in the clusters that a user would miss if it changed."""
        found = {}
        for name in MEMBERS:
            for pod in await self.pods(name):
                found[name, "Pod", name_of(pod)] = (uid_of(pod), labels_of(pod))
            for kind in (DEPLOYMENTS, SERVICES):
                for obj in (await self.clients[name].list(kind, SHOP)).items:
                    found[name, kind.kind, name_of(obj)] = (uid_of(obj), obj["spec"])
        return found

    async def holds(self, release):
        targets = [
            await self.host.find(kind, release, SHOP)
            for kind in (INSTALLATION_TARGETS, CAPACITY_TARGETS, TRAFFIC_TARGETS)
        ]
        return all(is_true(dig(target, "status", "conditions"), "Ready") for target in targets)

    async def serves_only(self, release):
        pods = [labels_of(pod) for name in MEMBERS for pod in await self.pods(name)]
        return [(pod["shipper-release"], pod.get("shipper-traffic-status")) for pod in pods] == [
            (release, "enabled")
        ] * (REPLICAS * len(MEMBERS))

    async def achieved(self, release, step):
        found = await self.host.find(RELEASES, release, SHOP)
        return dig(found, "status", "achievedStep", "step") == step


@pytest.fixture
async def world():
    opened = ShipperWorld(SeededRuntime(1))
    try:
        await opened.start(MEMBERS)
        yield opened
    finally:
        await opened.close()


async def test_pods_run_on_through_a_take_over_killed_at_every_write_and_the_next_release_replaces_them(world):
    before = await world.running()

    migration = await world.migrate()
    assert not any(copy.differs or copy.missing for plan in migration.releases for copy in plan.copies)
    world.start_control_plane()
    await world.until(lambda: world.holds(NAMES[1]))
    await world.runtime.sleep(5.0)

    assert await world.running() == before
    releases = (await world.host.list(RELEASES, SHOP)).items
    assert sorted(map(name_of, releases)) == sorted(NAMES)
    for name in MEMBERS:
        copy = await world.clients[name].get(DEPLOYMENTS, f"{NAMES[1]}-nginx", SHOP)
        assert "hanse.dev/owner-uid" in annotations_of(copy)
    world.forget_writes()
    await world.runtime.sleep(10.0)
    assert [path for writes in world.writes().values() for _, path in writes if "/leases/" not in path] == []

    parcel = packed("3", name="web", replicas=REPLICAS)
    parcel["metadata"]["namespace"] = SHOP
    await world.host.create(CONFIGMAPS, parcel)
    source = {"source": {"manifests": {"location": "configmap://web-3"}}}
    template = {**source, "chart": None, "values": {"replicaCount": None}}
    await world.host.patch(APPLICATIONS, APP, {"spec": {"template": template}}, SHOP)
    await world.until(lambda: contender(world))
    new = await contender(world)
    await world.until(lambda: world.achieved(new, 0))
    await world.host.patch(RELEASES, new, {"spec": {"targetStep": 1}}, SHOP)
    await world.until(lambda: world.achieved(new, 1))

    await world.until(lambda: world.serves_only(new))


async def contender(world):
    names = {name_of(each) for each in (await world.host.list(RELEASES, SHOP)).items} - set(NAMES)
    return next(iter(names), "")
