"""Locks as Vitess takes them in etcd, on anything that knows leases.

Who wants a lock puts a file with a lease of 30 seconds into the folder `locks` of the directory, and has the lock once
no older file is there. Whoever dies is forgotten with the lease. Files are named by the lease, which nobody else has.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

from hanse.kube.runtime import Runtime, timestamp
from hanse.vitess.topology.paths import LOCKS
from hanse.vitess.topology.store import LEASE_SECONDS, Lock, LockLost, LockTaken, NoNode, TopologyError, Unreachable

# How often a holder is heard of, and how often one who waits looks again.
_HEARTBEAT_SECONDS = LEASE_SECONDS / 3
_LOOK_AGAIN_SECONDS = 0.25


class Leases(Protocol):
    """What a lockserver offers to take locks with."""

    async def grant(self, seconds: int) -> int:
        """Return a new lease."""

    async def keep(self, lease: int) -> bool:
        """Begin a lease anew; False when it has run out."""

    async def revoke(self, lease: int) -> None:
        """End a lease, and all files that it holds."""

    async def place(self, path: str, data: bytes, lease: int) -> int:
        """Write a new file that lives with a lease; returns the revision at which it was written."""

    async def holds_older(self, directory: str, revision: int) -> bool:
        """Say whether a file in a directory was written before a revision."""

    async def exists(self, directory: str) -> bool:
        """Say whether any file is below a directory."""


class HeldLock:
    """A lock whose lease is kept alive while it is held."""

    def __init__(self, leases: Leases, lease: int, directory: str) -> None:
        self._leases = leases
        self._lease = lease
        self._directory = directory

    async def check(self) -> None:
        """Raise LockLost unless the lease stands."""
        try:
            kept = await self._leases.keep(self._lease)
        except Unreachable as error:
            raise LockLost(f"whether the lock of {self._directory} is still held cannot be asked: {error}") from error
        if not kept:
            raise LockLost(f"the lock of {self._directory} has run out; another may hold it now")


@asynccontextmanager
async def hold(leases: Leases, runtime: Runtime, directory: str, action: str, patience: float) -> AsyncIterator[Lock]:
    """Hold the lock of a directory for the length of a block."""
    if not await leases.exists(directory):
        raise NoNode(f"{directory} is not in topology, so it cannot be locked")
    lease = await leases.grant(LEASE_SECONDS)
    heart: asyncio.Task[None] | None = None
    try:
        folder = f"{directory}/{LOCKS}"
        revision = await leases.place(f"{folder}/{lease}", _contents(action, runtime), lease)
        heart = asyncio.create_task(_beat(leases, lease, runtime))
        await _wait(leases, runtime, folder, revision, patience)
        yield HeldLock(leases, lease, directory)
    finally:
        if heart is not None:
            heart.cancel()
        try:
            await leases.revoke(lease)
        except TopologyError:
            pass  # It ends by itself.


async def _wait(leases: Leases, runtime: Runtime, folder: str, revision: int, patience: float) -> None:
    deadline = runtime.monotonic() + patience
    while await leases.holds_older(folder, revision):
        if runtime.monotonic() >= deadline:
            raise LockTaken(f"{folder.removesuffix('/' + LOCKS)} is locked by another, for longer than {patience:g} s")
        await runtime.sleep(_LOOK_AGAIN_SECONDS)


async def _beat(leases: Leases, lease: int, runtime: Runtime) -> None:
    while True:
        await runtime.sleep(_HEARTBEAT_SECONDS)
        try:
            if not await leases.keep(lease):
                return
        except Unreachable:
            continue


def _contents(action: str, runtime: Runtime) -> bytes:
    """Return what people see who ask by whom a lock is held, in Vitess' form."""
    told = {"Action": action, "HostName": "hanse", "UserName": "hanse", "Time": timestamp(runtime.now())}
    return json.dumps({**told, "Options": {}, "Status": "Running"}).encode()
