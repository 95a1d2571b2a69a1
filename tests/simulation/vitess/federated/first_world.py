"""A federation whose members run the operator of the first generation, each by lambda controllers of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from importlib import import_module
from typing import Any

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.api.vitess.definitions import VITESS_CLUSTER_CRD, VITESS_CRDS
from hanse.api.vitess.kinds import VITESS_CLUSTERS
from hanse.clusters.access import Access
from hanse.clusters.registry import Registry
from hanse.composite.hosting.place import Place
from hanse.composite.hosting.server import ControllerServer
from hanse.composite.hosting.shelf import CacheShelf
from hanse.composite.spec import HookSpec, WebhookSpec
from hanse.kube.cache import Cache
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.events import EventRecorder
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import CRDS, PODS, Resource
from hanse.kube.runtime import SeededRuntime
from hanse.native import NativeDoor
from hanse.propagation.engine import Engine
from hanse.simulator.networking.providers import Provider
from hanse.vitess.federated.definition import first_definition
from hanse.vitess.federated.first_door import FirstVitessDoor
from hanse.vitess.first.controllers import in_python, vitess_controllers
from tests.simulation.composite.stage import Calls
from tests.simulation.vitess.first_stage import JOBS, Witness, my_vitess
from tests.simulation.world import ADMINISTRATOR, World

NAME = "vitess"
HOMES = {"global": "east", "zone1": "east", "zone2": "west"}
MEMBERS = ("east", "west")


def federated(image: str = "vitess/lite:v2.2") -> Obj:
    """Write a VitessCluster with a cell in each member, and one keyspace in both."""
    found = deepcopy(my_vitess())
    etcd = {"etcd": {"version": "3.2.11", "size": 1}, "vtctld": {"image": image, "replicas": 1}}
    parts: dict[str, Obj] = {"global": etcd, "zone1": {}, "zone2": {"vtgate": {"image": image, "replicas": 1}}}
    found["spec"]["cells"] = [{"name": name, "cluster": HOMES[name], **part} for name, part in parts.items()]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    pools = {"defaults": {"image": image, "volumeClaim": claim}, "masterEligible": {"replicas": 2}}
    found["spec"]["keyspaces"] = [{"name": "db", "cells": ["zone1", "zone2"], "tablets": pools}]
    found["spec"]["federation"] = {"topoGlobalServerAddress": "http://etcd.vt.example:2379"}
    return found


class FirstWorld(World):
    """Two members, in each a server of lambda controllers; one witness watches the tablets of both."""

    def __init__(self, runtime: SeededRuntime) -> None:
        super().__init__(runtime)
        self.witness = Witness(runtime)
        self._hooks: dict[str, Calls] = {}

    async def start(self, members: tuple[str, ...]) -> None:
        await self._open("host")
        await self.host.create(CRDS, first_definition(VITESS_CLUSTER_CRD))
        await super().start(members)

    async def _open(self, name: str) -> None:
        if name not in self.servers:
            await super()._open(name)

    async def add_member(self, name: str, index: int, provider: Provider = Provider.IP, **labels: str) -> None:
        await super().add_member(name, index, provider, **labels)
        for crd in (*METACONTROLLER_CRDS, *VITESS_CRDS):
            await self.clients[name].create(CRDS, crd)
        for controller in vitess_controllers(self._code):
            await self.clients[name].create(await self.clients[name].resource_of(controller), controller)
        client = Client(self.servers[name].connect(ADMINISTRATOR), self.runtime, manager="metacontroller")
        place = Place(client, CacheShelf(client), EventRecorder(client, "metacontroller"), self._hook)
        pods, jobs = Cache(client, PODS), Cache(client, JOBS)
        pods.subscribe(self.witness.pod_changed)
        jobs.subscribe(self.witness.job_changed)
        for part in (ControllerServer(place), pods, jobs):
            self._tasks.append(asyncio.create_task(part.run()))

    def _code(self, layer: str, hook: str) -> Obj:
        named = in_python(layer, hook)["python"]
        function: Any = getattr(import_module(named["module"]), named["function"])
        url = f"http://{layer}-{hook}".lower()
        self._hooks.setdefault(url, Calls(function))
        return {"version": "v1", "webhook": {"url": url}}

    async def _hook(self, spec: HookSpec) -> Calls:
        assert isinstance(spec.call, WebhookSpec)
        return self._hooks[spec.call.url]

    def start_control_plane(self) -> None:
        self._control_plane = asyncio.create_task(self._federate())

    async def _federate(self) -> None:
        host = Client(self._wire("host"), self.runtime)
        registry = Registry(host, lambda endpoint: self._wire(endpoint.server.removeprefix("https://")))
        access = Access(host)
        engine = Engine(host, registry, [FirstVitessDoor(), NativeDoor()], access)
        async with asyncio.TaskGroup() as tasks:
            for part in (registry, access, engine):
                tasks.create_task(part.run())

    async def pass_time(self) -> None:
        await self.runtime.sleep(0.5)

    # What tests ask

    async def part(self, member: str) -> Obj | None:
        return await self.find(member, VITESS_CLUSTERS, NAME)

    async def condition(self, kind: str = "Ready") -> tuple[str, str]:
        found = find_condition(dig(await self.find("host", VITESS_CLUSTERS, NAME), "status", "conditions"), kind) or {}
        return str(found.get("status", "")), str(found.get("message", ""))

    async def is_ready(self) -> bool:
        source = await self.host.get(VITESS_CLUSTERS, NAME, "default")
        seen = dig(source, "status", "observedGeneration") == source["metadata"]["generation"]
        return seen and (await self.condition())[0] == "True"

    async def edit(self, source: Obj) -> None:
        live = await self.host.get(VITESS_CLUSTERS, NAME, "default")
        await self.host.update(VITESS_CLUSTERS, {**live, "spec": source["spec"]})

    async def names(self, member: str, kind: Resource) -> list[str]:
        found = (await self.clients[member].list(kind, "default")).items
        return sorted(each["metadata"]["name"] for each in found)


@asynccontextmanager
async def first_world(seed: int = 0) -> AsyncIterator[FirstWorld]:
    """Run a federation with operators of the first generation for the length of a block."""
    world = FirstWorld(SeededRuntime(seed))
    try:
        await world.start(MEMBERS)
        yield world
    finally:
        await world.close()
