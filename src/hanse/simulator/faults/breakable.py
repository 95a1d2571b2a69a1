"""A simulated cluster together with its API server, the wire before it, its clock and its faults."""

from __future__ import annotations

import asyncio

from hanse.apiserver import ApiServer, Identity
from hanse.kube.client import Client
from hanse.simulator.cluster import SIMULATOR, SimulatedCluster
from hanse.simulator.faults.breakage import Breakage, Power
from hanse.simulator.faults.clock import ClusterClock
from hanse.simulator.faults.gate import NODES_USER, FaultGate
from hanse.simulator.settings import ClusterSettings

_NODES = Identity(NODES_USER, ("system:masters",))


class BreakableCluster:
    """A cluster that lives on an API server, opened with the same clock, and has the faults that it is given.

    `work` is how long the API server takes over any request beyond what it really takes.
    """

    def __init__(
        self, server: ApiServer, settings: ClusterSettings, clock: ClusterClock, power: Power, *, work: float = 0.0
    ) -> None:
        gate = FaultGate(clock, lambda: server.revision, distance=settings.latency_seconds, work=work)
        server.gate = gate
        client = Client(server.connect(_NODES, as_remote=True), clock, manager=SIMULATOR)
        self.settings = settings
        self.cluster = SimulatedCluster(client, settings, clock)
        self.breakage = Breakage(self.cluster, power, gate, clock)

    async def run(self) -> None:
        """Live, break and mend until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.cluster.run())
            tasks.create_task(self.breakage.run())
