"""Members, the engine and the controller of targets on virtual time; releases are written by hand, step by step."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from hanse.api.cluster_kind import CLUSTER_CRD
from hanse.api.held_changes import HELD_CHANGE_CRD
from hanse.api.names import FINALIZER, SYSTEM_NAMESPACE
from hanse.api.pieces import PIECE_CRD, PIECES, PIECES_ANNOTATION, RENDERING_ANNOTATION, piece_spec
from hanse.api.shipper.definitions import SHIPPER_CRDS
from hanse.api.shipper.kinds import (
    CAPACITY_TARGETS,
    GENERATION_ANNOTATION,
    INSTALLATION_TARGETS,
    RELEASES,
    TRAFFIC_TARGETS,
)
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig, is_deleting, labels_of, name_of
from hanse.kube.resources import CRDS, DEPLOYMENTS, NAMESPACES, PODS, SERVICES, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.propagation.engine import Engine
from hanse.rollouts.door import RolloutDoor
from hanse.rollouts.shelf import Shelf
from hanse.rollouts.targets import TargetController
from tests.simulation.world import World

APP = "web"
NAMESPACE = "default"
TARGETS = {"it": INSTALLATION_TARGETS, "ct": CAPACITY_TARGETS, "tt": TRAFFIC_TARGETS}


class TargetWorld(World):
    """A federation whose control plane has nothing but releases to look after."""

    async def start(self, members: tuple[str, ...]) -> None:
        await self._open("host")
        system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}
        await self.host.create(NAMESPACES, system)
        for crd in (CLUSTER_CRD, HELD_CHANGE_CRD, PIECE_CRD, *SHIPPER_CRDS):
            await self.host.create(CRDS, crd)
        for index, name in enumerate(members):
            await self.add_member(name, index)
        self.start_control_plane()
        for name in members:
            await self.until(functools.partial(self.cluster_is, name, "Ready"))

    def start_control_plane(self) -> None:
        self._control_plane = asyncio.create_task(self._federate(Client(self._wire("host"), self.runtime)))

    async def _federate(self, host: Client) -> None:
        registry = Registry(host, lambda endpoint: self._wire(endpoint.server.removeprefix("https://")))
        shelf, engine = Shelf(host), Engine(host, registry, [RolloutDoor()])
        targets = TargetController(host, shelf, registry, engine.view)
        async with asyncio.TaskGroup() as tasks:
            for part in (registry, engine, shelf, targets):
                tasks.create_task(part.run())

    async def release(
        self,
        name: str,
        generation: int,
        *clusters: str,
        app: str = APP,
        replicas: int = 3,
        percent: int = 0,
        weight: int = 0,
        service: Obj | None = None,
        pod: Obj | None = None,
    ) -> None:
        """Store a release as it is once it is scheduled."""
        labels = {"shipper-app": app, "shipper-release": name}
        common = {"namespace": NAMESPACE, "labels": labels}
        annotations = {GENERATION_ANNOTATION: str(generation)}
        await self.host.create(RELEASES, _release(name, common, annotations))
        pieces = {
            name: (DEPLOYMENTS, _deployment(name, labels, pod or {})),
            f"{name}-service-{app}": (SERVICES, service or load_balanced(app, labels)),
        }
        rendering = {RENDERING_ANNOTATION: name}
        for piece, (resource, template) in pieces.items():
            metadata = {
                **common,
                "name": piece,
                "annotations": {**annotations, **rendering},
                "finalizers": [FINALIZER],
            }
            await self._create(PIECES, metadata, piece_spec(resource, template))
        named = {**common, "name": name}
        sizes = [{"name": each, "percent": percent, "totalReplicaCount": replicas} for each in clusters]
        await self._create(CAPACITY_TARGETS, named, {"clusters": sizes})
        await self._create(
            TRAFFIC_TARGETS, named, {"clusters": [{"name": each, "weight": weight} for each in clusters]}
        )
        committed = {**named, "annotations": {**rendering, PIECES_ANNOTATION: ",".join(sorted(pieces))}}
        await self._create(INSTALLATION_TARGETS, committed, {"clusters": list(clusters), "canOverride": True})

    async def _create(self, resource: Resource, metadata: Obj, spec: Obj) -> None:
        named = {"apiVersion": resource.api_version, "kind": resource.kind}
        await self.host.create(resource, {**named, "metadata": metadata, "spec": spec})

    async def resize(self, name: str, percent: int) -> None:
        """Give a release another percentage of its size, in every cluster."""
        await self._patch_each(CAPACITY_TARGETS, name, percent=percent)

    async def weigh(self, name: str, weight: int) -> None:
        """Give a release another weight, in every cluster."""
        await self._patch_each(TRAFFIC_TARGETS, name, weight=weight)

    async def _patch_each(self, resource: Resource, name: str, **fields: int) -> None:
        found = await self.host.get(resource, name, NAMESPACE)
        entries = [{**entry, **fields} for entry in found["spec"]["clusters"]]
        await self.host.patch(resource, name, {"spec": {"clusters": entries}}, NAMESPACE)

    # What tests ask

    async def target(self, kind: str, name: str) -> Obj:
        return await self.host.get(TARGETS[kind], name, NAMESPACE)

    async def is_ready(self, name: str, *kinds: str) -> bool:
        """Tell whether targets of a release are ready, as their present specs want them."""
        for kind in kinds or tuple(TARGETS):
            found = await self.target(kind, name)
            current = dig(found, "status", "observedGeneration", default=0) >= found["metadata"]["generation"]
            if said(found)[0] != "True" or not (current or kind == "it"):
                return False
        return True

    async def says(self, kind: str, name: str, *wanted: str) -> bool:
        """Tell whether the Ready condition of a target begins with these words: status, message."""
        status, message = said(await self.target(kind, name))
        return status == wanted[0] and message.startswith(wanted[1])

    async def pods(self, cluster: str, release: str) -> list[Obj]:
        listed = await self.clients[cluster].list(PODS, NAMESPACE, labels=f"shipper-release={release}")
        return [pod for pod in sorted(listed.items, key=name_of) if not is_deleting(pod)]

    async def enabled(self, cluster: str, release: str) -> list[str]:
        found = await self.pods(cluster, release)
        return [name_of(pod) for pod in found if labels_of(pod).get("shipper-traffic-status") == "enabled"]

    async def has_enabled(self, cluster: str, release: str, count: int) -> bool:
        return len(await self.enabled(cluster, release)) == count

    def status_writes(self) -> list[str]:
        return [path for method, path in self.wires["host"].writes if path.endswith("/status") and "targets/" in path]


def said(target: Obj) -> tuple[str, str]:
    """Return what a target says of being ready."""
    found = find_condition(dig(target, "status", "conditions"), "Ready") or {}
    return found.get("status", ""), found.get("message", "")


def entry_of(target: Obj, cluster: str) -> Obj:
    """Return what a target says of a cluster."""
    entries: Sequence[Obj] = dig(target, "status", "clusters", default=())
    return next(entry for entry in entries if entry["name"] == cluster)


def condition_of(entry: Obj, kind: str) -> tuple[str, str, str]:
    """Return status, reason and message of a condition."""
    found = find_condition(entry["conditions"], kind) or {}
    return found["status"], found["reason"], found["message"]


def load_balanced(name: str, labels: dict[str, str], **selector: str) -> Obj:
    """Make the Service that clients come in by."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {**labels, "shipper-lb": "production"}},
        "spec": {
            "selector": {"shipper-app": labels["shipper-app"], "shipper-traffic-status": "enabled", **selector},
            "ports": [{"name": "http", "port": 80}],
        },
    }


def _release(name: str, common: Obj, annotations: Obj) -> Obj:
    environment = {
        "chart": {"name": "nginx", "version": "0.0.1", "repoUrl": "https://charts.example.com"},
        "values": {},
        "clusterRequirements": {"regions": [{"name": "local"}]},
        "strategy": {"steps": []},
    }
    return {
        "apiVersion": RELEASES.api_version,
        "kind": RELEASES.kind,
        "metadata": {**common, "name": name, "annotations": annotations},
        "spec": {"targetStep": 0, "environment": environment},
    }


def _deployment(name: str, labels: dict[str, str], pod: Obj) -> Obj:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": pod.get("annotations", {})},
                "spec": {"containers": [{"name": "app", "image": pod.get("image", "nginx:1")}]},
            },
        },
    }


@asynccontextmanager
async def targets(*members: str, seed: int = 0) -> AsyncIterator[TargetWorld]:
    """Run the members, the engine and the controller of targets for the length of a block."""
    world = TargetWorld(SeededRuntime(seed))
    try:
        await world.start(members)
        yield world
    finally:
        await world.close()
