"""Doing to a simulated cluster what its faults say: the power of its parts, its clock, its nodes and its wire.

Faults are set as a whole; what they were before does not matter, so a schedule, a command and a restart come by the
same road.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

from hanse.kube.runtime import Runtime
from hanse.simulator.cluster import SimulatedCluster
from hanse.simulator.faults.clock import ClusterClock
from hanse.simulator.faults.gate import FaultGate
from hanse.simulator.faults.values import Fault
from hanse.simulator.nodes.machines import ZONE, machines_of
from hanse.simulator.settings import ClusterSettings


class Power(Protocol):
    """How an API server is ended and started again on what it stored."""

    async def stop(self) -> None:
        """End it, with every connection."""

    async def start(self) -> None:
        """Let it answer again."""


class Breakage:
    """What is wrong with one cluster, done to it. `run` must be running for `set` to have an effect."""

    def __init__(self, cluster: SimulatedCluster, power: Power, gate: FaultGate, clock: ClusterClock) -> None:
        self._cluster = cluster
        self._power = power
        self._gate = gate
        self._clock = clock
        self._wanted: tuple[Fault, ...] = ()
        self._change = asyncio.Event()
        self._answering = True

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults that the cluster has, or is about to have."""
        return self._wanted

    def set(self, faults: Iterable[Fault]) -> None:
        """Say which faults the cluster has from now on."""
        self._wanted = tuple(faults)
        self._change.set()

    async def run(self) -> None:
        """Break and mend the cluster as it is told, until cancelled."""
        while True:
            self._change.clear()
            async with asyncio.TaskGroup() as tasks:
                cutting = [
                    tasks.create_task(_cut_again_and_again(self._gate, fault, self._clock))
                    for fault in self._wanted
                    if fault.kind == "cut-watches"
                ]
                await self._do()
                await self._change.wait()
                for task in cutting:
                    task.cancel()

    async def _do(self) -> None:
        faults = self._wanted
        self._clock.skew = sum(fault.seconds for fault in faults if fault.kind == "clock-skew")
        self._cluster.troubles.set(lost_nodes(faults, self._cluster.settings), slow_nodes(faults))
        self._gate.set(faults)
        kinds = {fault.kind for fault in faults}
        if "down" in kinds and not self._cluster.failed:
            self._cluster.fail()
        await self._switch(on=not kinds & {"down", "crash"})
        if "down" not in kinds and self._cluster.failed:
            self._cluster.heal()

    async def _switch(self, *, on: bool) -> None:
        if on == self._answering:
            return
        self._answering = on
        await (self._power.start() if on else self._power.stop())


def lost_nodes(faults: Iterable[Fault], settings: ClusterSettings) -> frozenset[str]:
    """Return the names of the nodes that are dead: by themselves, or with their zone."""
    zones = {fault.place for fault in faults if fault.kind == "lost-zone"}
    nodes = {fault.place for fault in faults if fault.kind == "lost-node"}
    machines = machines_of(settings).values()
    return frozenset(one.name for one in machines if one.name in nodes or one.labels.get(ZONE) in zones)


def slow_nodes(faults: Iterable[Fault]) -> dict[str, float]:
    """Return how much later pods start, by node."""
    return {fault.place: fault.seconds for fault in faults if fault.kind == "slow-node"}


async def _cut_again_and_again(gate: FaultGate, fault: Fault, runtime: Runtime) -> None:
    while True:
        gate.cut(fault)
        await runtime.sleep(fault.seconds)
