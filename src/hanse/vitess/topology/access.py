"""Typed access to the topology of one Vitess: the global lockserver, and those of the cells that it names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import CellInfo
from hanse.api.vitess_records.wire import Message, decode, encode
from hanse.vitess.topology import paths
from hanse.vitess.topology.paths import GLOBAL, Place
from hanse.vitess.topology.store import (
    LOCK_PATIENCE_SECONDS,
    BadRecord,
    BadVersion,
    Lock,
    NodeExists,
    NoNode,
    Stores,
    TopologyStore,
    Version,
    Versioned,
)

M = TypeVar("M", bound=Message)

# How often a change is tried again on what others have written meanwhile.
_ATTEMPTS = 5


class Topology:
    """Reads and writes records by their place; cells are found through their CellInfo."""

    def __init__(self, stores: Stores, lockserver: LockserverParams) -> None:
        self._stores = stores
        self._lockserver = lockserver

    async def store(self, scope: str) -> TopologyStore:
        """Return the store of a scope; raises NoNode for a cell that is not registered, and Unreachable."""
        if scope == GLOBAL:
            return self._stores.open(self._lockserver.address, self._lockserver.root)
        return self.cell_store((await self.read(paths.cell_info(scope))).value)

    def cell_store(self, info: CellInfo) -> TopologyStore:
        """Return the store that a CellInfo points at; raises Unreachable."""
        return self._stores.open(info.server_address, info.root)

    async def read(self, place: Place[M]) -> Versioned[M]:
        """Return a record; raises NoNode, Unreachable or BadRecord."""
        found = await (await self.store(place.scope)).read(place.path)
        return Versioned(decoded(place, found.value), found.version)

    async def find(self, place: Place[M]) -> M | None:
        """Return a record, None where there is none; raises Unreachable where that is not known."""
        try:
            return (await self.read(place)).value
        except NoNode:
            return None

    async def create(self, place: Place[M], record: M) -> Version:
        """Write a record that is not there; raises NodeExists."""
        return await (await self.store(place.scope)).create(place.path, encode(record))

    async def update(self, place: Place[M], change: Callable[[M], M]) -> bool:
        """Change a record that is there; says whether anything had to be written. Raises NoNode.

        What somebody else writes meanwhile is read and changed anew.
        """
        store = await self.store(place.scope)
        for attempt in range(_ATTEMPTS):
            found = await store.read(place.path)
            before = decoded(place, found.value)
            after = change(before)
            if after == before:
                return False
            try:
                await store.update(place.path, encode(after), found.version)
            except BadVersion:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return True
        return False

    async def ensure(self, place: Place[M], default: M, change: Callable[[M], M] = lambda record: record) -> bool:
        """Create a record or change the one that is there; says whether anything had to be written."""
        try:
            return await self.update(place, change)
        except NoNode:
            pass
        try:
            await self.create(place, change(default))
        except NodeExists:
            return await self.update(place, change)
        return True

    async def delete(self, place: Place[M], version: Version | None = None) -> bool:
        """Remove a record, if a version is given only that one; says whether it was there. Raises BadVersion."""
        try:
            await (await self.store(place.scope)).delete(place.path, version)
        except NoNode:
            return False
        return True

    async def names(self, scope: str, directory: str) -> tuple[str, ...]:
        """Return what is directly in a directory."""
        return await (await self.store(scope)).names(directory)

    async def lock(
        self, directory: str, action: str, *, patience: float = LOCK_PATIENCE_SECONDS
    ) -> AbstractAsyncContextManager[Lock]:
        """Return the lock of a keyspace's or a shard's directory, to be held in an `async with`."""
        return (await self.store(GLOBAL)).lock(directory, action, patience=patience)


def decoded(place: Place[M], data: bytes) -> M:
    """Return a file as the record that lies at a place; raises BadRecord."""
    try:
        return decode(place.type, data)
    except ValueError as error:
        raise BadRecord(f"{place} is not a {place.type.__name__} of Vitess: {error}") from error
