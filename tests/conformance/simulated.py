"""One simulated cluster in a process of its own, made as `hanse up` makes its members.

`python -m tests.conformance.simulated FOLDER` writes the administrator's kubeconfig into the folder once the cluster
is ready, and lives until it is ended.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from hanse.cli.embedded.kubeconfig import kubeconfig_for
from hanse.cli.embedded.servers import Server
from hanse.cli.running import run
from hanse.kube.runtime import SystemRuntime
from hanse.simulator.faults.breakable import BreakableCluster
from hanse.simulator.faults.clock import ClusterClock
from hanse.simulator.settings import ClusterSettings

NAME = "embedded"


class _Steady:
    """The power of a cluster to which no fault is done."""

    async def stop(self) -> None:
        raise AssertionError("nobody asked for a fault")

    async def start(self) -> None:
        raise AssertionError("nobody asked for a fault")


async def live(folder: Path) -> None:
    """Run the cluster until the process is ended."""
    runtime = SystemRuntime()
    clock = ClusterClock(runtime)
    server = await Server.open(NAME, folder, clock)
    await server.serve(0, runtime)
    settings = ClusterSettings(name=NAME, region="eu", zones=("eu-1",))
    breakable = BreakableCluster(server.api, settings, clock, _Steady())
    breakable.cluster.serve_through(server.api)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(breakable.run())
        await breakable.cluster.ready()
        unfinished = folder / ".kubeconfig"
        unfinished.write_bytes(kubeconfig_for({NAME: server.endpoint(runtime)}, NAME))
        unfinished.rename(folder / "kubeconfig")


if __name__ == "__main__":
    run(lambda: live(Path(sys.argv[1])))
