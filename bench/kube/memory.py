"""What a process grows by when it caches many Deployments; run as a program, because only a fresh one can tell.

python -m bench.kube.memory 100000
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass

import psutil

from bench.kube.pages import GeneratedDeployments
from hanse.cli.running import run
from hanse.kube import Cache, Client, SystemRuntime
from hanse.kube.resources import DEPLOYMENTS
from hanse.propagation import member_side


@dataclass(frozen=True, slots=True)
class Memory:
    """Growth of the resident set, at rest after the sync and at its height during it."""

    objects: int
    megabytes: float
    peak_megabytes: float


def measure_memory(objects: int) -> Memory:
    """Let a fresh process cache that many objects and say what it grew by."""
    program = [sys.executable, "-m", "bench.kube.memory", str(objects)]
    done = subprocess.run(program, check=True, capture_output=True, text=True)
    return Memory(**json.loads(done.stdout))


async def grow(objects: int) -> Memory:
    """Cache that many objects in this process, in the projection that the engine uses for its members."""
    server = GeneratedDeployments(objects)
    cache = Cache(Client(server, SystemRuntime()), DEPLOYMENTS, project=member_side._project)  # noqa: SLF001
    before = _resident_megabytes()
    running = asyncio.create_task(cache.run())
    await cache.wait_synced()
    await server.watched.wait()
    gc.collect()
    memory = Memory(len(cache), _resident_megabytes() - before, _peak_megabytes() - before)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return memory


def _resident_megabytes() -> float:
    return float(psutil.Process().memory_info().rss / 1e6)


def _peak_megabytes() -> float:
    # Linux counts in KiB here.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    print(json.dumps(asdict(run(lambda: grow(int(sys.argv[1]))))))
