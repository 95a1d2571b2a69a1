"""Many Vitesses on one federation: those whose lockserver or vtctld hangs keep no other one waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import aclosing
from functools import partial

import pytest

from hanse.api.planetscale.kinds import (
    CELL_LABEL,
    CLUSTER_LABEL,
    COMPONENT_LABEL,
    DRAIN_STARTED_ANNOTATION,
    KEYSPACE_LABEL,
    SHARD_LABEL,
    TABLET_UID_LABEL,
    VITESS_CLUSTERS,
)
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.resources import PODS
from hanse.kube.runtime import SeededRuntime
from hanse.vitess.federated.controller import FederatedVitess
from hanse.vitess.federated.plan import spec_digest, stored_plan
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.reparenting import Replication, Tablets
from hanse.vitess.federated.tokens import Reparent
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from hanse.vitess.topology.store import Stores, TopologyStore, Versioned
from tests.simulation.vitess.federated.operator import NAMESPACE
from tests.simulation.vitess.federated.world import HOMES, VitessWorld, shop

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(120)]

MANY = 12
DEAD = "dead.example"
# Planned and stored, with two quiet members: a pass takes no virtual time but that of requests.
SOON = 3.0


class _Hung:
    """A lockserver that takes questions and never answers."""

    async def read_all(self, _directory: str) -> dict[str, Versioned[bytes]]:
        await asyncio.Event().wait()
        raise AssertionError


class _SomeHang:
    """Lockservers of which those at the dead addresses hang."""

    def __init__(self, runtime: SeededRuntime) -> None:
        self._servers: dict[str, MemoryLockserver] = {}
        self._stores = MemoryStores(self._servers)
        self._runtime = runtime
        self.asked: set[str] = set()

    def open(self, address: str, root: str) -> TopologyStore:
        self.asked.add(address)
        if DEAD in address:
            return _Hung()  # type: ignore[return-value]
        self._servers.setdefault(address, MemoryLockserver(self._runtime))
        return self._stores.open(address, root)

    async def close(self) -> None:
        """Nothing is open."""


class _HungTablets:
    """Tablets and a vtctld that never answer."""

    def __init__(self, asked: set[str], name: str) -> None:
        self._asked = asked
        self._name = name

    async def replication(self, _aliases: Collection[str]) -> Mapping[str, Replication]:
        self._asked.add(self._name)
        await asyncio.Event().wait()
        return {}

    async def reparent(self, _shard: ShardId, _change: Reparent) -> None:
        await asyncio.Event().wait()


class _Crowd(VitessWorld):
    """A federation in which nobody runs what members are given: only the layer on top is looked at."""

    def __init__(self, runtime: SeededRuntime) -> None:
        super().__init__(runtime, HOMES)
        self.lockservers = _SomeHang(runtime)
        self.silent: set[str] = set()
        self.controller = partial(_controller, world=self)  # type: ignore[assignment]

    def start_operator(self, name: str) -> None:
        """Start none."""

    async def kill_operator(self, name: str) -> None:
        """Have none."""

    def reach(self, source: Obj, _topology: Topology) -> Tablets | None:
        return _HungTablets(self.silent, name_of(source)) if "silent" in name_of(source) else None

    async def planned_of(self, name: str) -> bool:
        source = await self.host.get(VITESS_CLUSTERS, name, NAMESPACE)
        plan = stored_plan(source)
        return plan is not None and plan.spec == spec_digest(source)

    async def aclose(self) -> None:
        await self.close()


def _controller(host, registry, view, _stores: Stores, _reach, *, world: _Crowd) -> FederatedVitess:
    return FederatedVitess(host, registry, view, world.lockservers, world.reach)


def _vitess(name: str, address: str) -> Obj:
    source = shop(parts=1)
    source["metadata"]["name"] = name
    source["spec"]["globalLockserver"]["external"]["address"] = address
    for cell in source["spec"]["cells"]:
        cell["lockserver"] = {}
    return source


async def _world() -> _Crowd:
    world = _Crowd(SeededRuntime())
    await world.start(tuple(dict.fromkeys(HOMES.values())))
    return world


async def test_lockservers_that_hang_delay_no_other_vitess():
    async with aclosing(await _world()) as world:
        for number in range(MANY):
            await world.host.create(VITESS_CLUSTERS, _vitess(f"hung-{number}", f"{number}.{DEAD}:2379"))
        await world.runtime.sleep(2.0)
        assert len(world.lockservers.asked) == MANY, "all of them are asked at once"
        await world.host.create(VITESS_CLUSTERS, _vitess("healthy", "etcd.example:2379"))
        assert await world.until(lambda: world.planned_of("healthy"), 60) <= SOON

        for image in ("vitess/lite:v22", "vitess/lite:v23", "vitess/lite:v24"):
            await world.runtime.sleep(11.0)
            change = {"spec": {"images": {"vttablet": image}}}
            await world.host.patch(VITESS_CLUSTERS, "healthy", change, NAMESPACE)
            assert await world.until(lambda: world.planned_of("healthy"), 60) <= SOON

        hung = await world.host.get(VITESS_CLUSTERS, "hung-0", NAMESPACE)
        told = find_condition(dig(hung, "status", "conditions"), "Degraded")
        assert told is not None
        assert told["reason"] == "TopologyUnreadable"
        assert f"0.{DEAD}:2379" in told["message"]


async def test_tablets_and_vtctlds_that_hang_delay_no_other_vitess_and_are_given_up_in_the_end():
    async with aclosing(await _world()) as world:
        for number in range(MANY):
            await world.host.create(VITESS_CLUSTERS, _vitess(f"silent-{number}", f"{number}.example:2379"))
            await world.clients["east"].create(PODS, _drained(f"silent-{number}", number))
        await world.until(lambda: len(world.silent) == MANY, 60)
        await world.host.create(VITESS_CLUSTERS, _vitess("healthy", "etcd.example:2379"))
        assert await world.until(lambda: world.planned_of("healthy"), 60) <= SOON

        async def told() -> bool:
            source = await world.host.get(VITESS_CLUSTERS, "silent-0", NAMESPACE)
            notes = dig(source, "status", "federation", "notes", default=())
            return any("did not answer in 180 s" in note for note in notes)

        await world.until(told, 400)


def _drained(cluster: str, number: int) -> Obj:
    labels = {
        CLUSTER_LABEL: cluster,
        COMPONENT_LABEL: "vttablet",
        CELL_LABEL: "useast1a",
        KEYSPACE_LABEL: "orders",
        SHARD_LABEL: "x-x",
        TABLET_UID_LABEL: f"{number:010}",
    }
    metadata = {
        "name": f"{cluster}-tablet",
        "namespace": NAMESPACE,
        "labels": labels,
        "annotations": {DRAIN_STARTED_ANNOTATION: "maintenance"},
    }
    container = {"name": "vttablet", "image": "vitess/lite:v21"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}
