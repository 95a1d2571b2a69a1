"""Changes objects at a steady rate, each change stamped with its time; run as a program of its own.

It watches the same objects without decoding them, so that the delay of a bare watch on the same changes is known.
Writes two lists of seconds as JSON when it is done: `heard`, the delays of the bare watch, and `written`, the
times that the API server took to answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from pathlib import Path

from bench.kube.raw import RawConnection
from hanse.cli.running import run
from hanse.kube import Kubeconfig
from hanse.kube.resources import CONFIGMAPS

STAMP = "bench.hanse.dev/stamp"
CONNECTIONS = 8
OBJECTS = 50
_STAMPED = re.compile(rb'"bench\.hanse\.dev/stamp":"(\d+)"')
_LONGEST_STAMP_BYTES = 64
# Events under way when the last write was answered.
_LAST_EVENTS_SECONDS = 1.0


def object_name(number: int) -> str:
    """Return the name of the object that is changed in a turn."""
    return f"stamped-{number % OBJECTS:03}"


class BareWatch:
    """Finds stamps in a stream of bytes and notes how old each is; one may be cut by a read in two."""

    def __init__(self) -> None:
        self.delays: list[float] = []
        self._rest = b""
        self._last = 0

    def __call__(self, data: bytes) -> None:
        now, data = time.monotonic_ns(), self._rest + data
        for found in _STAMPED.finditer(data):
            stamp = int(found[1])
            # Managed fields name the annotation once more, without a value; a tail is seen twice.
            if stamp > self._last:
                self._last = stamp
                self.delays.append((now - stamp) / 1e9)
        self._rest = data[-_LONGEST_STAMP_BYTES:]


class Writer:
    """Sends stamped patches on whichever connection is free."""

    def __init__(self, connections: list[RawConnection], namespace: str) -> None:
        self.seconds: list[float] = []
        self._namespace = namespace
        self._free: asyncio.Queue[RawConnection] = asyncio.Queue()
        for connection in connections:
            self._free.put_nowait(connection)

    async def change(self, number: int) -> None:
        """Stamp one object with the present time."""
        connection = await self._free.get()
        path = CONFIGMAPS.path(self._namespace, object_name(number))
        stamp = time.monotonic_ns()
        patch = json.dumps({"metadata": {"annotations": {STAMP: str(stamp)}}}).encode()
        await connection.exchange(connection.prepare("PATCH", path, patch, "application/merge-patch+json"))
        self.seconds.append((time.monotonic_ns() - stamp) / 1e9)
        self._free.put_nowait(connection)


async def write(args: argparse.Namespace) -> dict[str, list[float]]:
    """Make all changes and return both lists of delays."""
    endpoint = Kubeconfig.load(args.kubeconfig).endpoint(args.context)
    connections = [await RawConnection.open(endpoint) for _ in range(CONNECTIONS + 1)]
    watching, bare = connections.pop(), BareWatch()
    target = f"{CONFIGMAPS.path(args.namespace)}?watch=true&resourceVersion={args.version}"
    watching.follow(watching.prepare("GET", target), bare)
    writer = Writer(connections, args.namespace)
    await _at_a_steady_rate(writer, args.rate, args.count)
    await asyncio.sleep(_LAST_EVENTS_SECONDS)
    for connection in (watching, *connections):
        connection.close()
    return {"heard": bare.delays, "written": writer.seconds}


async def _at_a_steady_rate(writer: Writer, rate: float, count: int) -> None:
    start = time.monotonic()
    async with asyncio.TaskGroup() as changes:
        for number in range(count):
            await asyncio.sleep(max(0.0, start + number / rate - time.monotonic()))
            changes.create_task(writer.change(number))


def parse_args() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.kube.writer", description=__doc__)
    add = parser.add_argument
    add("--kubeconfig", type=Path, required=True, help="how to reach the API server")
    add("--context", required=True, help="a context that signs in by token")
    add("--namespace", required=True, help="where the objects are")
    add("--version", required=True, help="the resourceVersion from which to watch")
    add("--rate", type=float, required=True, help="changes a second")
    add("--count", type=int, required=True, help="changes in all")
    return parser.parse_args()


if __name__ == "__main__":
    arguments = parse_args()
    print(json.dumps(run(lambda: write(arguments))))
