"""A federation whose members run the operator of planetscale.com/v2, with simulated tablets and one lockserver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hanse.api.clusters import DOORS_ANNOTATION
from hanse.api.planetscale.definitions import VITESS_CLUSTER_CRD
from hanse.api.planetscale.kinds import COMPONENT_LABEL, VITESS_CLUSTERS, VITESS_DOOR
from hanse.api.vitess_records.topology import TabletAlias
from hanse.cli.vitess_parts import VitessMeans, VitessParts, serve_vitess_in
from hanse.clusters.access import Access
from hanse.clusters.joining import join, joining_manifests
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.kubeconfig import Endpoint
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import CRDS, PODS
from hanse.kube.runtime import SeededRuntime
from hanse.native import NativeDoor
from hanse.propagation.engine import Engine
from hanse.simulator.networking.providers import Provider
from hanse.vitess.federated.definition import federated_definition
from hanse.vitess.federated.door import VitessDoor
from hanse.vitess.operator.tablets import alias_of
from tests.simulation.vitess.tablet_world import TabletWorld
from tests.simulation.world import World

HOMES = {"useast1a": "east", "uswest2a": "west"}
NAME = "example"


class MemberTablets(TabletWorld):
    """The tablets of all members, each started and stopped by the pods of its own."""

    async def live_in(self, member: str, client: Client) -> None:
        """Start and stop the tablets of one member with its pods, until cancelled."""
        own = {cell for cell, home in HOMES.items() if home == member}
        while True:
            pods = (await client.list(PODS, "default", labels=f"{COMPONENT_LABEL}=vttablet")).items
            for pod in pods:
                await self._look(pod)
            there = {TabletAlias.parse(alias_of(pod)) for pod in pods if dig(pod, "status", "phase") == "Running"}
            for alias, tablet in self.tablets.items():
                if alias.cell in own:
                    tablet.mysql.up = tablet.mysql.up and alias in there
                tablet.mysql.fetch()
            await self.runtime.sleep(1.0)


class OperatedWorld(World):
    """Two members with the operator in each, by the door that is open there."""

    def __init__(self, runtime: SeededRuntime) -> None:
        super().__init__(runtime)
        self.tablets = MemberTablets(runtime)

    async def start(self, members: tuple[str, ...]) -> None:
        await self._open("host")
        await self.host.create(CRDS, federated_definition(VITESS_CLUSTER_CRD))
        await super().start(members)

    async def _open(self, name: str) -> None:
        if name not in self.servers:
            await super()._open(name)

    async def add_member(self, name: str, index: int, provider: Provider = Provider.IP, **labels: str) -> None:
        await super().add_member(name, index, provider, **labels)
        await serve_vitess_in(self.clients[name])
        self._tasks.append(asyncio.create_task(self.tablets.live_in(name, self.clients[name])))

    async def enrol(self, name: str, labels: dict[str, str]) -> None:
        manifests = joining_manifests(name, Endpoint(f"https://{name}"), labels)
        manifests[-1]["metadata"]["annotations"] = {DOORS_ANNOTATION: VITESS_DOOR}
        await join(self.host, manifests)

    def start_control_plane(self) -> None:
        self._control_plane = asyncio.create_task(self._federate())

    async def _federate(self) -> None:
        host = Client(self._wire("host"), self.runtime)
        registry = Registry(host, lambda endpoint: self._wire(endpoint.server.removeprefix("https://")))
        access = Access(host)
        engine = Engine(host, registry, [VitessDoor(), NativeDoor()], access)
        means = VitessMeans(lambda _cluster: self.tablets.stores, self.tablets)
        vitess = VitessParts(host, registry, engine.view, means)
        async with asyncio.TaskGroup() as tasks:
            for part in (registry, access, engine, vitess):
                tasks.create_task(part.run())

    async def pass_time(self) -> None:
        await self.runtime.sleep(1.0)

    async def condition(self, kind: str, cluster: str = "host") -> tuple[str, str]:
        """Return what a VitessCluster says of itself, on the federation or in a member."""
        found = await self.find(cluster, VITESS_CLUSTERS, NAME)
        told = find_condition(dig(found, "status", "conditions"), kind) or {}
        return str(told.get("status", "")), str(told.get("message", ""))

    async def is_ready(self) -> bool:
        return (await self.condition("Ready"))[0] == "True"

    async def tablet_pod(self, alias: str) -> Obj | None:
        """Return the pod of a tablet, wherever it is."""
        member = HOMES[alias.partition("-")[0]]
        pods = (await self.clients[member].list(PODS, "default", labels=f"{COMPONENT_LABEL}=vttablet")).items
        return next((pod for pod in pods if alias_of(pod) == alias), None)


@asynccontextmanager
async def operated_world(seed: int = 0) -> AsyncIterator[OperatedWorld]:
    """Run a federation with operators for the length of a block."""
    world = OperatedWorld(SeededRuntime(seed))
    try:
        await world.start(tuple(HOMES.values()))
        yield world
    finally:
        await world.close()
