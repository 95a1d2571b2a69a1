"""Measures what lambda controllers cost over writing the same objects by hand, and adds the result to RESULTS.md.

    python -m bench.composites [--parents 1000] [--children 5] [--width 16] [--dry-run]

One upstream API server, etcd with fsync; the controllers run in a process of their own, with a Python hook in another.
The same parents and ConfigMaps are made, changed and deleted by prepared requests, then the parents alone, whose hook
says the rest, then all by prepared requests again: the ratio is to the mean of the two. Twice: by a controller that has
a sync hook alone, whose children the garbage collector takes away, and by one that has a finalize hook as well.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

import psutil

from bench.composite_objects import (
    PARENTS,
    Verb,
    controller,
    create,
    definition,
    delete,
    family,
    parent,
    update,
)
from bench.harness.rest import changes_in, log
from bench.kube.raw import RawConnection, send_all
from bench.results import append_results, line
from hanse.api.metacontroller.kinds import COMPOSITE_CONTROLLERS
from hanse.cli.composite_parts import run_controllers
from hanse.cli.control_plane import serve_composites
from hanse.cli.loading import settle
from hanse.cli.running import log_to, run, until_signalled
from hanse.kube.cache import Cache, Change
from hanse.kube.client import Client
from hanse.kube.conditions import is_true
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.manifest import Obj, dig, name_of
from hanse.kube.resources import CRDS, NAMESPACES, Resource
from hanse.kube.runtime import SystemRuntime
from tests.kubernetes.real import HOST, RealCluster, real_clusters

_CLUSTER = "composites"
# Whoever writes signs in alike: checking a certificate costs a server more.
_CONTEXT = f"{_CLUSTER}-token"
_BY_HAND = "by-hand"
# What a controller does, and the namespace of the parents that it does it for.
_SYNC, _FINALIZE = "sync", "sync-and-finalize"
_LONGEST_SECONDS = 1800.0
_START_SECONDS = 120.0
_REST_SECONDS = 3.0
# Until then it asks for the owner of every child, one by one, which neither way of writing causes in a cluster that
# knows its kinds.
_DISCOVERY_SECONDS = 60.0
_COLUMNS = (
    "date",
    "commit",
    "command",
    "parents × children",
    "by hand s, create / update / delete",
    "by hook",
    "ratio",
    "writes a parent",
    "writes by hand",
    "CPU s of the servers, by hand",
    "by hook",
    "CPU s of controllers and hook",
    "CPU of others",
)
_HEADING = f"""# Lambda controllers: what a hook costs over writing by hand

One upstream API server, etcd with fsync, all on one machine. by hand: parents and their ConfigMaps made, changed and
deleted by prepared requests, the mean of a run before and one after; by hook: the parents alone are, until the last of
them tells in its status that all its children are there, respectively changed (InPlace), and until the last is gone
(target: twice by hand). A controller with a sync hook alone leaves deletion to the garbage collector; one with a
finalize hook holds each parent by a finalizer until no child is left. Writes are requests that change anything. CPU of
the servers is that of etcd, kube-apiserver and kube-controller-manager. On a machine whose few cores are all busy, it
and that of the controllers are where the time goes; what others used of the cores while the hook was at work is told
as a share, since it slows both ways of writing, and not by as much. Lines that do not name the hooks were measured
before kube-controller-manager knew the parents' kind: until it does, it asks for the owner of every child.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass(frozen=True, slots=True)
class Phase:
    """How long it took, how many writes the server saw, and the processor seconds of each party."""

    seconds: float
    writes: int
    servers: float
    controllers: float
    others: float


@dataclass(frozen=True, slots=True)
class Measured:
    """Creating, updating and deleting: by hand before, by the hooks, and by hand after.

    Where there is no finalize hook, deleting is nothing of theirs.
    """

    parents: int
    children: int
    hooks: str
    before: Sequence[Phase]
    hook: Sequence[Phase]
    after: Sequence[Phase]

    def cells(self) -> list[str]:
        """Return the figures as cells of a table."""
        hand = [(a.seconds + b.seconds) / 2 for a, b in zip(self.before, self.after, strict=True)]
        ratios = [phase.seconds / base for phase, base in zip(self.hook, hand, strict=False)]
        return [
            f"{self.parents} × {self.children}, {self.hooks}",
            " / ".join(f"{seconds:.1f}" for seconds in hand),
            " / ".join(f"{phase.seconds:.1f}" for phase in self.hook),
            " / ".join(f"{ratio:.2f}×" for ratio in ratios),
            " / ".join(f"{phase.writes / self.parents:.1f}" for phase in self.hook),
            " / ".join(f"{phase.writes / self.parents:.1f}" for phase in self.before),
            " / ".join(f"{(a.servers + b.servers) / 2:.1f}" for a, b in zip(self.before, self.after, strict=True)),
            " / ".join(f"{phase.servers:.1f}" for phase in self.hook),
            " / ".join(f"{phase.controllers:.1f}" for phase in self.hook),
            " / ".join(f"{phase.others:.0%}" for phase in self.hook),
        ]


class Processors:
    """Who uses the processors: the servers, the controllers with their hook, and everybody else."""

    def __init__(self, servers: Iterable[int]) -> None:
        self._servers = [psutil.Process(pid) for pid in servers]
        self._own = psutil.Process()
        self.controllers: psutil.Process | None = None

    def read(self) -> tuple[float, float, float, float]:
        """Return the seconds so far of the servers, of the controllers, of this process and of the whole machine."""
        controllers = [self.controllers, *self.controllers.children(recursive=True)] if self.controllers else []
        machine = psutil.cpu_times()
        return (
            sum(map(_processor_seconds, self._servers)),
            sum(map(_processor_seconds, controllers)),
            _processor_seconds(self._own),
            machine.user + machine.system + machine.nice,
        )


def _processor_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return times.user + times.system


class Shelves:
    """Follows the parents that the hook serves."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.cache = Cache(client, PARENTS, namespace=namespace)
        self._done: dict[str, tuple[str, int]] = {}
        self._changed = asyncio.Event()
        self.cache.subscribe(self._note)

    def _note(self, change: Change) -> None:
        if change.new is None:
            self._done.pop(change.key.name, None)
        else:
            current = dig(change.new, "status", "observedGeneration") == dig(change.new, "metadata", "generation")
            children = dig(change.new, "status", "children", default=0) if current else 0
            self._done[change.key.name] = dig(change.new, "spec", "text"), children
        self._changed.set()

    async def until(self, text: str, parents: int, children: int) -> None:
        """Wait until so many parents tell that all their children have this text."""
        await self._until(lambda: list(self._done.values()).count((text, children)) >= parents)

    async def until_gone(self) -> None:
        """Wait until no parent is left."""
        await self._until(lambda: not self._done)

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(_LONGEST_SECONDS):
            while not holds():
                self._changed.clear()
                await self._changed.wait()
                # Not at every single change, which would measure the counting.
                await asyncio.sleep(0.02)


Objects = Callable[[str, str, int], Iterable[tuple[Resource, Obj]]]


class Bench:
    """One API server, the objects, and the ways to write them."""

    def __init__(
        self, client: Client, connections: list[RawConnection], processors: Processors, parents: int, children: int
    ) -> None:
        self._client = client
        self._processors = processors
        self._connections = connections
        self._parents = [f"shelf-{number:05}" for number in range(parents)]
        self._children = children

    async def by_hand(self) -> list[Phase]:
        """Write everything by prepared requests."""
        phases = []
        for verb in (create, update, delete):
            phases.append(await self._timed(self._requests(verb, _BY_HAND, family)))
            await asyncio.sleep(_REST_SECONDS)
        return phases

    async def by_hook(self, namespace: str, *, finalizes: bool) -> list[Phase]:
        """Write the parents alone, and wait for what follows."""
        shelves = Shelves(self._client, namespace)
        watching = asyncio.create_task(shelves.cache.run())
        await shelves.cache.wait_synced()
        count, children, phases = len(self._parents), self._children, []
        waits: list[tuple[Verb, Callable[[], object]]] = [
            (create, lambda: shelves.until("old", count, children)),
            (update, lambda: shelves.until("new", count, children)),
        ]
        if finalizes:
            waits.append((delete, shelves.until_gone))
        for verb, wait in waits:
            phases.append(await self._timed(self._requests(verb, namespace, _parent_alone), wait))
            await asyncio.sleep(_REST_SECONDS)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        return phases

    async def _timed(self, requests: list[bytes], wait: Callable[[], object] = lambda: None) -> Phase:
        before, used, start = await self._writes(), self._processors.read(), time.monotonic()
        await send_all(self._connections, requests)
        waited = wait()
        if asyncio.iscoroutine(waited):
            await waited
        took = time.monotonic() - start
        servers, controllers, own, machine = (
            now - then for now, then in zip(self._processors.read(), used, strict=True)
        )
        others = max(0.0, machine - servers - controllers - own) / (took * (psutil.cpu_count() or 1))
        # What is still written afterwards is a cost as well.
        await asyncio.sleep(_REST_SECONDS)
        return Phase(took, await self._writes() - before, servers, controllers, others)

    async def _writes(self) -> int:
        return changes_in((await self._client.get_raw("/metrics")).decode())

    def _requests(self, verb: Verb, namespace: str, objects: Objects) -> list[bytes]:
        text = "new" if verb is update else "old"
        return [
            verb(self._connections[0], resource, namespace, obj)
            for name in self._parents
            for resource, obj in objects(name, text, self._children)
        ]


def _parent_alone(name: str, text: str, children: int) -> Iterable[tuple[Resource, Obj]]:
    return [parent(name, text, children)]


async def prepare(client: Client) -> None:
    """Define the kinds, make the namespaces and the controller, and wait until all is served and known."""
    await serve_composites(client)
    await client.create(CRDS, definition())
    for namespace in (_BY_HAND, _SYNC, _FINALIZE):
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    await until(client, CRDS, PARENTS.group_resource, "Established")
    log(f"the garbage collector looks for new kinds every 30 s: waiting {_DISCOVERY_SECONDS:.0f} s")
    await asyncio.sleep(_DISCOVERY_SECONDS)


async def until(client: Client, resource: Resource, name: str, condition: str) -> None:
    """Wait until an object has a condition."""
    async with asyncio.timeout(_START_SECONDS):
        while True:
            found = await client.get(resource, name)
            if is_true(dig(found, "status", "conditions"), condition):
                return
            await asyncio.sleep(0.1)


async def measure(cluster: RealCluster, parents: int, children: int, width: int) -> list[Measured]:
    """Measure by hand, by each controller, and by hand again."""
    endpoint = Kubeconfig.load(cluster.kubeconfig).endpoint(_CONTEXT)
    async with AsyncExitStack() as ending:
        client = Client(HttpTransport(endpoint), SystemRuntime())
        ending.push_async_callback(client.close)
        await prepare(client)
        connections = []
        for _ in range(width):
            connections.append(await RawConnection.open(endpoint))
            ending.callback(connections[-1].close)
        processors = Processors(cluster.processes.pids.values())
        bench = Bench(client, connections, processors, parents, children)
        log(f"{parents} parents with {children} children each, by hand")
        before = await bench.by_hand()
        hooks = {}
        for namespace in (_FINALIZE, _SYNC):
            log(f"by hook: {namespace}")
            async with served(cluster, client, processors, finalizes=namespace == _FINALIZE):
                hooks[namespace] = await bench.by_hook(namespace, finalizes=namespace == _FINALIZE)
        log("by hand again")
        after = await bench.by_hand()
        return [Measured(parents, children, name, before, phases, after) for name, phases in hooks.items()]


@asynccontextmanager
async def served(
    cluster: RealCluster, client: Client, processors: Processors, *, finalizes: bool
) -> AsyncIterator[None]:
    """Have a controller of the parents while the context lasts, run in a process of its own."""
    asked = await client.create(COMPOSITE_CONTROLLERS, controller(finalizes=finalizes))
    serving = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.composites", "--serve", str(cluster.kubeconfig)
    )
    processors.controllers = psutil.Process(serving.pid)
    try:
        await until(client, COMPOSITE_CONTROLLERS, name_of(asked), "Ready")
        yield
    finally:
        processors.controllers = None
        serving.terminate()
        await serving.wait()
        await client.delete(COMPOSITE_CONTROLLERS, name_of(asked))


async def serve(kubeconfig: str) -> None:
    """Run the controllers of a cluster, as `hanse controller` does."""
    client = Client(HttpTransport(Kubeconfig.load(kubeconfig).endpoint(_CONTEXT)), SystemRuntime())
    try:
        await until_signalled(run_controllers(client, trusted=True))
    finally:
        await client.close()


def main() -> int:
    """Run the bench and print its line."""
    parser = argparse.ArgumentParser(prog="python -m bench.composites", description=__doc__)
    parser.add_argument("--parents", type=int, default=1000, help="how many parents")
    parser.add_argument("--children", type=int, default=5, help="how many ConfigMaps each has")
    parser.add_argument("--width", type=int, default=16, help="how many requests are sent at a time")
    parser.add_argument("--dry-run", action="store_true", help="print the line without adding it to RESULTS.md")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        log_to(sys.stderr, json=True)
        settle()
        run(lambda: serve(asked.serve))
        return 0
    with real_clusters({_CLUSTER: replace(HOST, fsync=True)}) as clusters:
        measured = run(lambda: measure(clusters[_CLUSTER], asked.parents, asked.children, asked.width))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    command = shlex.join(["python", "-m", "bench.composites", *(each for each in sys.argv[1:] if each != "--dry-run")])
    start = [time.strftime("%Y-%m-%d"), commit.stdout.strip(), f"`{command}`"]
    shown = [line([*start, *each.cells()]) for each in measured]
    sys.stdout.write("".join(f"{each}\n" for each in shown))
    if not asked.dry_run:
        append_results(shown, _HEADING)
    return 0


if __name__ == "__main__":
    sys.exit(main())
