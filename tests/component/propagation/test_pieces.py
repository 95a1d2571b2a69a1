"""Pieces of releases carried into a member by the engine: of any kind, shared by releases, and given back."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from hanse.api.names import FINALIZER
from hanse.api.pieces import PIECE_CRD, PIECES, PIECES_ANNOTATION, RENDERING_ANNOTATION, piece_spec
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import (
    APP_LABEL,
    CAPACITY_TARGETS,
    GENERATION_ANNOTATION,
    INSTALLATION_TARGETS,
    RELEASE_LABEL,
)
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.control_plane import prepare_host
from hanse.clusters.joining import join, joining_manifests
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Key, dig
from hanse.kube.resources import CRDS, DEPLOYMENTS, SERVICES
from hanse.kube.runtime import SeededRuntime
from hanse.native import NativeDoor
from hanse.propagation.engine import Engine
from hanse.propagation.intent import Ref
from hanse.rollouts.door import RolloutDoor

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]
ADMINISTRATOR = Identity("admin", ("system:masters",))


@dataclass
class Stage:
    host: Client
    member: Client
    other: Client
    engine: Engine
    heard: list[Ref] = field(default_factory=list)

    async def release(self, name, generation, *, port, percent, clusters=("east",)):
        """Install a release of the application `shop`: a Deployment of its own, and the Service that all share."""
        label = {"app": name}
        pod = {"metadata": {"labels": label}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
        deployment = {"replicas": 0, "selector": {"matchLabels": label}, "template": pod}
        await self._piece(name, name, generation, DEPLOYMENTS, f"{name}-web", deployment)
        await self._piece(f"{name}-service", name, generation, SERVICES, "shop", {"ports": [{"port": port}]})
        annotations = {PIECES_ANNOTATION: f"{name},{name}-service", RENDERING_ANNOTATION: name}
        entries = [{"name": each, "percent": percent, "totalReplicaCount": 3} for each in clusters]
        await self._target(CAPACITY_TARGETS, name, {}, {"clusters": entries})
        installed = {"clusters": list(clusters), "canOverride": True, "values": {}}
        await self._target(INSTALLATION_TARGETS, name, annotations, installed)

    async def _piece(self, name, release, generation, resource, called, spec):
        template = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": called, "namespace": "default"},
            "spec": spec,
        }
        metadata = {
            "name": name,
            "namespace": "default",
            "labels": {APP_LABEL: "shop", RELEASE_LABEL: release},
            "annotations": {RENDERING_ANNOTATION: release, GENERATION_ANNOTATION: str(generation)},
            "finalizers": [FINALIZER],
        }
        piece = {"apiVersion": PIECES.api_version, "kind": PIECES.kind, "metadata": metadata}
        await self.host.create(PIECES, {**piece, "spec": piece_spec(resource, template)})

    async def _target(self, kind, name, annotations, spec):
        metadata = {"name": name, "namespace": "default", "annotations": annotations}
        await self.host.create(
            kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
        )

    async def replicas(self, release):
        return dig(await self.member.find(DEPLOYMENTS, f"{release}-web", "default"), "spec", "replicas")

    async def port(self, member=None):
        service = await (member or self.member).find(SERVICES, "shop", "default")
        return None if service is None else service["spec"]["ports"][0]["port"]


@asynccontextmanager
async def staged():
    runtime = SeededRuntime(0)
    servers = {
        name: await ApiServer.open(name=name, storage=MemoryStorage(), runtime=runtime)
        for name in ("host", "east", "west")
    }
    host, member, other = (Client(server.connect(ADMINISTRATOR), runtime) for server in servers.values())
    await prepare_host(host)
    for crd in (PIECE_CRD, *SHIPPER_CRDS):
        await host.apply(CRDS, crd)
    for name in ("east", "west"):
        await join(host, joining_manifests(name, Endpoint(f"https://{name}"), {}))
    registry = Registry(
        host, lambda endpoint: servers[endpoint.server.removeprefix("https://")].connect(ADMINISTRATOR, as_remote=True)
    )
    engine = Engine(host, registry, [RolloutDoor(), NativeDoor()])
    stage = Stage(host, member, other, engine)
    engine.view.follow(PIECES, stage.heard.append)
    tasks = [asyncio.create_task(part.run()) for part in (registry, engine)]
    try:
        await runtime.sleep(5)
        yield stage
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for server in servers.values():
            await server.close()


async def test_a_release_is_installed_scaled_and_heard_of():
    async with staged() as stage:
        await stage.release("shop-1", 0, port=80, percent=1)
        await stage.host.runtime.sleep(3)
        assert (await stage.replicas("shop-1"), await stage.port()) == (1, 80)

        ref = Ref(PIECES, Key("default", "shop-1"))
        standing = stage.engine.view.standing(ref)
        assert standing is not None
        assert standing.rows["east"].settled
        stage.heard.clear()

        clusters = [{"name": "east", "percent": 100, "totalReplicaCount": 3}]
        await stage.host.patch(CAPACITY_TARGETS, "shop-1", {"spec": {"clusters": clusters}}, "default")
        await stage.host.runtime.sleep(1)
        assert await stage.replicas("shop-1") == 3
        assert ref in stage.heard


async def test_releases_share_a_service_and_the_older_one_has_it_back_when_the_newer_one_goes():
    async with staged() as stage:
        await stage.release("shop-1", 0, port=80, percent=100)
        await stage.host.runtime.sleep(3)
        before = await stage.member.get(SERVICES, "shop", "default")

        await stage.release("shop-2", 1, port=81, percent=100)
        await stage.host.runtime.sleep(3)
        assert (await stage.replicas("shop-1"), await stage.replicas("shop-2"), await stage.port()) == (3, 3, 81)
        standing = stage.engine.view.standing(Ref(PIECES, Key("default", "shop-1-service")))
        assert standing is not None
        assert standing.spoken_by == Ref(PIECES, Key("default", "shop-2-service"))

        for name in ("shop-2", "shop-2-service"):
            await stage.host.delete(PIECES, name, "default")
        await stage.host.runtime.sleep(10)
        assert (await stage.replicas("shop-1"), await stage.replicas("shop-2"), await stage.port()) == (3, None, 80)
        after = await stage.member.get(SERVICES, "shop", "default")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert not [each for each in (await stage.host.list(PIECES)).items if "shop-2" in each["metadata"]["name"]]


async def test_where_only_the_older_release_is_it_keeps_the_service_that_both_have():
    async with staged() as stage:
        await stage.release("shop-1", 0, port=80, percent=100, clusters=("east", "west"))
        await stage.host.runtime.sleep(3)
        before = await stage.other.get(SERVICES, "shop", "default")

        await stage.release("shop-2", 1, port=81, percent=100, clusters=("east",))
        await stage.host.runtime.sleep(3)
        after = await stage.other.get(SERVICES, "shop", "default")
        assert (await stage.port(), await stage.port(stage.other)) == (81, 80)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        standing = stage.engine.view.standing(Ref(PIECES, Key("default", "shop-2-service")))
        assert standing is not None
        assert standing.rows["west"].settled

        for name in ("shop-1", "shop-1-service"):
            await stage.host.delete(PIECES, name, "default")
        await stage.host.runtime.sleep(10)
        assert (await stage.port(), await stage.port(stage.other)) == (81, None)


async def test_a_rendering_that_was_never_completed_goes_nowhere():
    async with staged() as stage:
        await stage.release("shop-1", 0, port=80, percent=100)
        await stage.host.runtime.sleep(3)
        await stage._piece("shop-2-service", "shop-2", 1, SERVICES, "shop", {"ports": [{"port": 81}]})
        await stage.host.runtime.sleep(3)
        assert await stage.port() == 80
