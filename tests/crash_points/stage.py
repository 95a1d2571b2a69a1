"""A real host and two real members, one of which sends pods to the other, and a control plane that dies when told."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hanse.api.clusters import CLUSTERS
from hanse.api.names import SYSTEM_NAMESPACE
from hanse.api.planetscale.definitions import PLANETSCALE_CRDS
from hanse.kube.client import Client, WriteOptions
from hanse.kube.errors import ApiError, NotFound
from hanse.kube.resources import CRDS, LEASES, NAMESPACES, SERVICE_ACCOUNTS
from tests.crash_points import scenario
from tests.crash_points.ending import HOST as FEDERATION
from tests.crash_points.ending import Ending, differences, ending
from tests.crash_points.mortal import Fate, writes_file
from tests.kubernetes.pods.stage import HOME, PodFederation
from tests.kubernetes.real import HOST, MEMBER, real_clusters
from tests.kubernetes.real.components import CHECKOUT
from tests.kubernetes.real.processes import GuardedProcesses
from tests.kubernetes.rollouts.federation import client_of
from tests.kubernetes.vitess.programs import start_etcd

AWAY = "away"
_LEASE = "hanse-controller"
_PATIENCE_SECONDS = 60.0
# Long enough for a busy machine: what came later would be missed in every comparison.
_STILL_SECONDS = 20.0
_LOOK_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class Point:
    """One run: at which write the control plane was killed, and what was different in the end."""

    fate: Fate
    died: bool
    at_write: str
    found: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        when = "after" if self.fate.after else "before"
        end = "; ".join(self.found[:3]) or "the same end"
        return (
            f"killed {when} write {self.fate.at}, {self.at_write or 'which never came'} ({self.seconds:.0f} s): {end}"
        )


class MortalFederation(PodFederation):
    """The federation, whose control plane looks into a file to see when it dies."""

    @property
    def fate(self) -> Path:
        """That file."""
        return self._folder / "fate.json"

    def start_controller(self) -> None:
        """Start the control plane."""
        if not self.fate.exists():
            Fate("nothing is called so").write(self.fate)
        if (before := self._processes.get("controller")) is not None and before.poll() is None:
            self.kill("controller")
        options = ["controller", "--kubeconfig", str(self._host.kubeconfig), "--kubelet-host", "127.0.0.1"]
        command = [sys.executable, "-m", "tests.crash_points.mortal", str(self.fate), *options]
        with (self._folder / "controller.log").open("ab") as log:
            self._processes["controller"] = subprocess.Popen(command, stderr=log, cwd=CHECKOUT)

    @property
    def is_alive(self) -> bool:
        """Whether the control plane runs."""
        return self._processes["controller"].poll() is None


class Stage:
    """The federation with people in it, and how the scenario ends undisturbed."""

    def __init__(self, federation: MortalFederation, lockserver: str) -> None:
        """The federated Vitess keeps its topology in an etcd of its own."""
        self.federation = federation
        self.lockserver = lockserver
        self.died = False
        self.clients: dict[str, Client] = {
            name: client_of(cluster.kubeconfig) for name, cluster in federation.clusters.items()
        }
        self.reference: tuple[Ending, Ending] = ({}, {})

    @property
    def host(self) -> Client:
        """A user's way to the federation."""
        return self.clients[FEDERATION]

    async def prepare(self) -> None:
        """Have the members be of the region that the application asks for, and everything served."""
        label = {"metadata": {"labels": {"topology.kubernetes.io/region": scenario.REGION}}}
        for name in (HOME, AWAY):
            await self.host.patch(CLUSTERS, name, label)
        for name in (HOME, AWAY):
            for crd in PLANETSCALE_CRDS:
                await self.clients[name].apply(CRDS, crd)
        await self._until(self._is_served)

    async def _is_served(self) -> bool:
        """Tell whether all would be stored: admission hears of new kinds seconds after they are served."""
        try:
            await scenario.prepare(self.host)
            for kind, obj in scenario.written(self.lockserver, "default"):
                await self.host.create(kind, obj, options=WriteOptions(dry_run=True))
        except ApiError:
            return False
        return True

    async def measure(self, namespace: str) -> int:
        """Live through the scenario undisturbed; returns the number of writes that it takes."""
        Fate(namespace).write(self.federation.fate)
        writes_file(self.federation.fate).write_bytes(b"")
        await self._create(namespace)
        first = await self._rested(namespace)
        await scenario.change(self.host, self.clients[HOME], namespace)
        second = await self._rested(namespace)
        self.reference = (first, second)
        await self._leave(namespace)
        return len(self._told())

    async def live_through(self, namespace: str, at: int, *, after: bool) -> Point:
        """Live through the scenario with a control plane that is killed at a write, and compare."""
        begin, fate = time.monotonic(), Fate(namespace, at, after)
        writes_file(self.federation.fate).write_bytes(b"")
        fate.write(self.federation.fate)
        self.died = False
        await self._create(namespace)
        found = await self._ends(namespace, self.reference[0], "created")
        if not found:
            await scenario.change(self.host, self.clients[HOME], namespace)
            found = await self._ends(namespace, self.reference[1], "changed")
        told = self._told()
        at_write = told[at - 1].partition(" ")[2] if len(told) >= at else ""
        await self._leave(namespace)
        return Point(fate, self.died, at_write, tuple(found), time.monotonic() - begin)

    async def close(self) -> None:
        """Hang up."""
        for client in self.clients.values():
            await client.close()

    async def _create(self, namespace: str) -> None:
        async def is_there() -> bool:
            await self._supervise()
            # Without an account no pod is made.
            found = [await self.clients[name].find(SERVICE_ACCOUNTS, "default", namespace) for name in (HOME, AWAY)]
            return all(found)

        async def until_there() -> None:
            await self._until(is_there)

        await scenario.create(self.host, self.clients[HOME], namespace, self.lockserver, until_there)

    async def _supervise(self) -> None:
        """Start a control plane anew that was killed, as whoever supervises it does."""
        if self.federation.is_alive:
            return
        self.died = True
        # The dead hold the Lease until it runs out, as is tested elsewhere; here nobody waits for that.
        with suppress(NotFound):
            await self.host.delete(LEASES, _LEASE, SYSTEM_NAMESPACE)
        # It is not to die again at a write of the same number.
        Fate(f"{Fate.read(self.federation.fate).word} is over").write(self.federation.fate)
        self.federation.start_controller()

    async def _ends(self, namespace: str, wanted: Ending, what: str) -> list[str]:
        """Wait until all is as it was undisturbed, and stays so for a moment; returns what is not."""
        latest, still = time.monotonic() + _PATIENCE_SECONDS, 0
        while True:
            await self._supervise()
            found = differences(wanted, await ending(self.clients, namespace))
            still = 0 if found else still + 1
            if still > 2:
                return []
            if time.monotonic() > latest:
                return [f"once all was {what}: {each}" for each in found]
            await asyncio.sleep(_LOOK_SECONDS)

    async def _rested(self, namespace: str) -> Ending:
        """Wait until nothing changes any more; returns what is there then."""
        before, since = await ending(self.clients, namespace), time.monotonic()
        while time.monotonic() - since < _STILL_SECONDS:
            await asyncio.sleep(_LOOK_SECONDS)
            now = await ending(self.clients, namespace)
            if now != before:
                before, since = now, time.monotonic()
        return before

    async def _leave(self, namespace: str) -> None:
        await self.host.delete(NAMESPACES, namespace)

    async def _until(self, holds: Callable[[], object]) -> None:
        latest = time.monotonic() + _PATIENCE_SECONDS
        while True:
            found = holds()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return
            if time.monotonic() > latest:
                raise TimeoutError(f"not within {_PATIENCE_SECONDS:g} s; the control plane's log has the rest")
            await asyncio.sleep(_LOOK_SECONDS)

    def _told(self) -> list[str]:
        return writes_file(self.federation.fate).read_text().splitlines()


@asynccontextmanager
async def crash_stage(folder: Path) -> AsyncIterator[Stage]:
    """Run the federation for the length of a block."""
    (folder / "etcd").mkdir()
    etcd = GuardedProcesses(folder / "etcd")
    try:
        with real_clusters({FEDERATION: HOST, HOME: MEMBER, AWAY: MEMBER}) as clusters:
            async with _led(MortalFederation(clusters, folder), start_etcd(etcd)) as stage:
                yield stage
    finally:
        etcd.close()


@asynccontextmanager
async def _led(federation: MortalFederation, lockserver: str) -> AsyncIterator[Stage]:
    try:
        federation.start(nodes=1)
        stage = Stage(federation, lockserver)
        try:
            await stage.prepare()
            yield stage
        finally:
            await stage.close()
    finally:
        federation.stop()
