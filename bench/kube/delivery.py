"""How long after a write a cache's handler hears of it, beside a bare watch on the same changes."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from bench.kube.writer import OBJECTS, STAMP, object_name
from hanse.kube import Cache, Change, Client
from hanse.kube.manifest import annotations_of
from hanse.kube.resources import CONFIGMAPS


@dataclass(frozen=True, slots=True)
class Delivery:
    """Milliseconds from the start of a write to the reader."""

    changes: int
    heard: int
    p50: float
    p99: float
    bare_p50: float
    bare_p99: float
    written_p50: float


class StampReader:
    """A handler that notes how old each stamp is."""

    def __init__(self) -> None:
        self.delays: list[float] = []

    def __call__(self, change: Change) -> None:
        now = time.monotonic_ns()
        stamp = annotations_of(change.new or {"metadata": {}}).get(STAMP)
        if stamp:
            self.delays.append((now - int(stamp)) / 1e9)


async def measure_delivery(
    client: Client, kubeconfig: Path, context: str, namespace: str, *, rate: float, count: int
) -> Delivery:
    """Have another process change objects at a rate, and note when a cache's handler hears of each change."""
    for number in range(OBJECTS):
        metadata = {"name": object_name(number), "namespace": namespace}
        await client.create(CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    version = (await client.list(CONFIGMAPS, namespace)).resource_version
    cache, reader = Cache(client, CONFIGMAPS, namespace=namespace), StampReader()
    cache.subscribe(reader)
    running = asyncio.create_task(cache.run())
    await cache.wait_synced()
    program = ["-m", "bench.kube.writer", f"--kubeconfig={kubeconfig}", f"--context={context}"]
    program += [f"--namespace={namespace}", f"--version={version}", f"--rate={rate}", f"--count={count}"]
    writer = await asyncio.create_subprocess_exec(sys.executable, *program, stdout=subprocess.PIPE)
    output, _ = await writer.communicate()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    if writer.returncode:
        raise SystemExit("the writer of the delivery bench failed")
    bare = json.loads(output)
    return Delivery(
        changes=count,
        heard=len(reader.delays),
        p50=_milliseconds(reader.delays, 0.5),
        p99=_milliseconds(reader.delays, 0.99),
        bare_p50=_milliseconds(bare["heard"], 0.5),
        bare_p99=_milliseconds(bare["heard"], 0.99),
        written_p50=_milliseconds(bare["written"], 0.5),
    )


def _milliseconds(seconds: list[float], part: float) -> float:
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, math.ceil(part * len(ordered)) - 1)] if ordered else math.nan
