"""A federation whose members run parts of one Vitess, on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy

from hanse.api.planetscale.kinds import (
    DRAIN_STARTED_ANNOTATION,
    VITESS_CELLS,
    VITESS_CLUSTERS,
    VITESS_KEYSPACES,
    VITESS_SHARDS,
)
from hanse.api.planetscale.values import LockserverParams
from hanse.clusters.access import Access
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.errors import ApiError
from hanse.kube.manifest import Obj, dig, is_deleting, name_of
from hanse.kube.resources import CRDS, NAMESPACES, PODS, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.kube.transport import Unreachable
from hanse.native import NativeDoor
from hanse.propagation.engine import Engine
from hanse.simulator.networking.providers import Provider
from hanse.vitess.federated.controller import FederatedVitess
from hanse.vitess.federated.door import VitessDoor
from hanse.vitess.federated.member_parts import tablet_pods
from hanse.vitess.federated.reading import ShardId, shards_of
from hanse.vitess.federated.reparenting import ReparentFailed, Replication
from hanse.vitess.federated.tokens import Reparent
from hanse.vitess.naming import tablet_name
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.picture import TopologyPicture, read_picture
from hanse.vitess.topology.store import TopologyError
from tests.simulation.vitess.federated.net import GLOBAL_ADDRESS, HOST, Net, cell_address, change_primary
from tests.simulation.vitess.federated.operator import NAME, NAMESPACE, Operator
from tests.simulation.world import World

HOMES = {"useast1a": "east", "uswest2a": "west", "ussouth3a": "south"}
LEFT, RIGHT = ShardId("orders", "-80"), ShardId("orders", "80-")
LOCKSERVER = LockserverParams("etcd2", GLOBAL_ADDRESS, f"/vitess/{NAME}/global")
_KINDS = (VITESS_CLUSTERS, VITESS_CELLS, VITESS_KEYSPACES, VITESS_SHARDS)


def definition(kind: Resource) -> Obj:
    """Define a kind that takes anything."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"plural": kind.plural, "kind": kind.kind, "singular": kind.kind.lower(), "listKind": f"{kind.kind}List"}
    return {
        "apiVersion": CRDS.api_version,
        "kind": CRDS.kind,
        "metadata": {"name": kind.group_resource},
        "spec": {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def shop(homes: Mapping[str, str] | None = None, east: int = 2, parts: int = 2, **more: object) -> Obj:
    """Write a federated VitessCluster with one cell in each member."""
    cells = [
        {"name": cell, "cluster": home, "lockserver": {"etcd": {}, "cellInfoAddress": cell_address(cell)}}
        for cell, home in (homes or HOMES).items()
    ]
    pools = [
        {"cell": cell, "type": "replica", "replicas": east if cell == "useast1a" else 1, "mysqld": {}}
        for cell in (homes or HOMES)
    ]
    spec: Obj = {
        "images": {"vttablet": "vitess/lite:v21"},
        "globalLockserver": {
            "external": {"implementation": "etcd2", "address": GLOBAL_ADDRESS, "rootPath": LOCKSERVER.root}
        },
        "cells": cells,
        "keyspaces": [keyspace("orders", pools, parts)],
    }
    metadata = {"name": NAME, "namespace": NAMESPACE}
    return deepcopy(
        {
            "apiVersion": VITESS_CLUSTERS.api_version,
            "kind": VITESS_CLUSTERS.kind,
            "metadata": metadata,
            "spec": spec | more,
        }
    )


def keyspace(name: str, pools: list[Obj], parts: int = 1) -> Obj:
    """Write a keyspace in equal parts."""
    template = {"tabletPools": pools, "databaseInitScriptSecret": {"name": "init", "key": "init.sql"}}
    return {
        "name": name,
        "durabilityPolicy": "cross_cell",
        "partitionings": [{"equal": {"parts": parts, "shardTemplate": template}}],
    }


class ModelTablets:
    """The tablets of the simulated Vitess as the control plane speaks with them."""

    def __init__(self, net: Net, topology: Topology) -> None:
        self._net = net
        self._topology = topology

    async def replication(self, aliases: Collection[str]) -> Mapping[str, Replication]:
        spoken = {alias: self._net.speaks(HOST, alias) for alias in aliases}
        return {alias: Replication(0.0, each.position) for alias, each in spoken.items() if each is not None}

    async def reparent(self, shard: ShardId, change: Reparent) -> None:
        why = await change_primary(self._net, HOST, self._topology, shard, change.expected, change.new)
        if why:
            raise ReparentFailed(why)


class VitessWorld(World):
    """A federation with Vitess on it; every second each primary writes, and what is wrong is kept."""

    # Those that are broken on purpose put their own in its place.
    controller: type[FederatedVitess] = FederatedVitess

    def __init__(self, runtime: SeededRuntime, homes: Mapping[str, str]) -> None:
        super().__init__(runtime)
        self.net = Net(runtime, dict(homes))
        self.operators: dict[str, Operator] = {}
        self.running: dict[str, asyncio.Task[None]] = {}
        self.wrong: list[str] = []
        self.finished: dict[ShardId, set[str]] = {}
        self._events: list[tuple[ShardId, str]] = []

    async def start(self, members: tuple[str, ...]) -> None:
        await self._open("host")
        await self._prepare("host")
        await super().start(members)

    async def _open(self, name: str) -> None:
        if name not in self.servers:
            await super()._open(name)

    async def _prepare(self, name: str) -> None:
        for kind in _KINDS:
            await self.clients[name].create(CRDS, definition(kind))
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await self.clients[name].create(NAMESPACES, namespace)

    async def add_member(self, name: str, index: int, provider: Provider = Provider.IP, **labels: str) -> None:
        await super().add_member(name, index, provider, **labels)
        await self._prepare(name)
        self.operators[name] = Operator(name, self.clients[name], self.net, self._drained)
        self.start_operator(name)

    def start_operator(self, name: str) -> None:
        self.running[name] = asyncio.create_task(self.operators[name].run())

    async def kill_operator(self, name: str) -> None:
        self.running[name].cancel()
        await asyncio.gather(self.running[name], return_exceptions=True)

    def start_control_plane(self) -> None:
        self._control_plane = asyncio.create_task(self._federate())

    async def _federate(self) -> None:
        host = Client(self._wire("host"), self.runtime)
        registry = Registry(host, lambda endpoint: self._wire(endpoint.server.removeprefix("https://")))
        access = Access(host)
        engine = Engine(host, registry, [VitessDoor(), NativeDoor()], access)
        vitess = self.controller(
            host,
            registry,
            engine.view,
            self.net.stores[HOST],
            lambda _source, topology: ModelTablets(self.net, topology),
        )
        async with asyncio.TaskGroup() as tasks:
            for part in (registry, access, engine, vitess):
                tasks.create_task(part.run())

    async def close(self) -> None:
        for name in self.running:
            await self.kill_operator(name)
        await super().close()

    # Misfortune

    async def lose(self, name: str) -> None:
        """Take a whole cluster away: its API, its operator's reach, its tablets."""
        self.net.lost.add(name)
        for each in self.net.databases.values():
            if each.member == name:
                each.alive = each.leads = False
        self.net.refresh()
        await self.fail(name)

    def bring_back(self, name: str) -> None:
        self.net.lost.discard(name)
        self.net.refresh()
        self.heal(name)

    def cut(self, one: str, other: str) -> None:
        """Part two nodes from each other."""
        self.net.cuts.add(frozenset({one, other}))
        self._rewire()

    def mend(self) -> None:
        self.net.cuts.clear()
        self.net.etcd_down.clear()
        self._rewire()

    def _rewire(self) -> None:
        self.net.refresh()
        for name in self.operators:
            if name in self.wires:
                self.wires[name].hanging = frozenset({HOST, name}) in self.net.cuts

    # What people do

    async def drain(self, alias: str) -> None:
        """Ask for a tablet's pod to be drained, as who empties a node does."""
        member = self.net.databases[alias].member
        patch = {"metadata": {"annotations": {DRAIN_STARTED_ANNOTATION: "maintenance"}}}
        await self.clients[member].patch(PODS, tablet_name(NAME, alias), patch, NAMESPACE)

    async def sweep(self) -> None:
        """Delete the pods whose drains are finished, as who asked for them does, once they are all back."""
        for name in self.operators:
            if name in self.net.lost:
                continue
            try:
                pods = (await self.clients[name].list(PODS, NAMESPACE)).items
                for pod in tablet_pods(each for each in pods if not is_deleting(each)):
                    if pod.finished:
                        await self.clients[name].delete(PODS, name_of(pod.pod), NAMESPACE)
            except (ApiError, Unreachable):
                continue

    def _drained(self, shard: ShardId, alias: str, gone: bool) -> None:
        if gone:
            self.finished.get(shard, set()).discard(alias)
            return
        others = [each for each in self.net.of(shard) if each.alias != alias and each.alive and each.type == "replica"]
        if not others:
            self.wrong.append(f"{alias} of {shard} is drained although nobody else could lead it")
        self._events.append((shard, alias))

    async def judge_drains(self) -> None:
        """Take in who was drained since the last look; whoever was before has to be back, or gone for good."""
        for shard, busy in self.finished.items():
            self.finished[shard] = busy - {alias for alias in busy if await self._is_back(alias)}
        for shard, alias in self._events:
            busy = self.finished.setdefault(shard, set())
            busy.add(alias)
            if len(busy) > 1:
                self.wrong.append(f"{shard}: {' and '.join(sorted(busy))} are drained at once")
        self._events.clear()

    async def watch(self) -> None:
        """Judge every second, until cancelled."""
        while True:
            self.wrong += [f"two primaries were acknowledged: {each}" for each in self.net.write()]
            await self.judge_drains()
            self.wrong += self._lost_records()
            await self.runtime.sleep(1.0)

    async def _is_back(self, alias: str) -> bool:
        """Tell whether a drained tablet's pod is another one by now, or no drain is asked of it."""
        database = self.net.databases[alias]
        if database.member in self.net.lost:
            return False
        pod = await self.find(database.member, PODS, tablet_name(NAME, alias), NAMESPACE)
        if pod is None and alias not in await self._wanted(database.member):
            return True
        return database.alive and pod is not None and not any("drain" in name for name in _annotations(pod))

    async def _wanted(self, member: str) -> set[str]:
        """Return the tablets that a member's part asks for."""
        keyspaces = dig(await self.part(member), "spec", "keyspaces", default=())
        return {each.alias for one in keyspaces for shard in shards_of(one) for each in shard.identities()}

    def _lost_records(self) -> list[str]:
        """Return the running tablets whose shard or cell is not in topology any more."""
        files = self.net.servers[GLOBAL_ADDRESS].files()
        found = []
        for each in self.net.databases.values():
            if not each.alive:
                continue
            root = f"vitess/{NAME}/global"
            shard = f"{root}/keyspaces/{each.shard.keyspace}/shards/{each.shard.shard}/Shard"
            if each.leads and (shard not in files or f"{root}/cells/{each.cell}/CellInfo" not in files):
                found.append(f"the record of {each.shard} or of cell {each.cell} is gone while {each.alias} runs")
        return found

    # What tests ask

    async def pass_time(self) -> None:
        await self.runtime.sleep(0.5)

    @property
    def topology(self) -> Topology:
        return Topology(self.net.stores[HOST], LOCKSERVER)

    async def picture(self) -> TopologyPicture | None:
        try:
            return await read_picture(self.topology)
        except TopologyError:
            return None

    async def source(self) -> Obj:
        return await self.host.get(VITESS_CLUSTERS, NAME, NAMESPACE)

    async def condition(self, kind: str) -> tuple[str, str]:
        found = find_condition(dig(await self.source(), "status", "conditions"), kind) or {}
        return str(found.get("status", "")), str(found.get("message", ""))

    async def is_ready(self) -> bool:
        source = await self.source()
        seen = dig(source, "status", "observedGeneration", default=0) == source["metadata"]["generation"]
        return seen and (await self.condition("Ready"))[0] == "True"

    async def part(self, member: str) -> Obj | None:
        return await self.find(member, VITESS_CLUSTERS, NAME, NAMESPACE)

    def leaders(self) -> dict[str, str]:
        return {str(each.shard): each.alias for each in self.net.databases.values() if each.alive and each.leads}

    async def edit(self, change: Obj) -> None:
        await self.host.patch(VITESS_CLUSTERS, NAME, {"spec": change}, NAMESPACE)


def _annotations(pod: Obj) -> dict[str, str]:
    found: dict[str, str] = pod["metadata"].get("annotations") or {}
    return found


@asynccontextmanager
async def vitess_world(
    seed: int = 0, homes: Mapping[str, str] | None = None, kind: type[VitessWorld] = VitessWorld
) -> AsyncIterator[VitessWorld]:
    """Run a federation with a Vitess for the length of a block; what was judged wrong fails it."""
    world = kind(SeededRuntime(seed), homes or HOMES)
    watching: asyncio.Task[None] | None = None
    try:
        await world.start(tuple(world.net.members))
        watching = asyncio.create_task(world.watch())
        yield world
    finally:
        if watching is not None:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        await world.close()
