"""What topology says, read now and then for many: shards of one cluster ask at about the same time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hanse.api.planetscale.values import LockserverParams
from hanse.kube.runtime import Runtime
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.picture import TopologyPicture, read_picture
from hanse.vitess.topology.store import Stores, TopologyError

_FRESH_SECONDS = 1.0
_SILENT_SECONDS = 5.0
# So long a cell that did not answer is not asked again: each time would cost all that is read beside it seconds.
_SILENT_CELL_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Glance:
    """What topology said, None where it said nothing, and then why."""

    picture: TopologyPicture | None
    problem: str = ""


@dataclass(slots=True)
class _Kept:
    glance: Glance
    until: float


class Pictures:
    """Reads topologies; without `stores` nothing is ever known of any."""

    def __init__(self, stores: Stores | None, runtime: Runtime) -> None:
        self._stores = stores
        self._runtime = runtime
        self._kept: dict[LockserverParams, _Kept] = {}
        self._reading: dict[LockserverParams, asyncio.Lock] = {}
        self._silent: dict[LockserverParams, dict[str, tuple[str, float]]] = {}

    def topology(self, lockserver: LockserverParams) -> Topology | None:
        """Return access to a topology, None where there is none."""
        return None if self._stores is None else Topology(self._stores, lockserver)

    def forget(self, lockserver: LockserverParams) -> None:
        """Read anew next time, since something was written."""
        self._kept.pop(lockserver, None)

    async def glance(self, lockserver: LockserverParams) -> Glance:
        """Return what topology says at about this moment."""
        topology = self.topology(lockserver)
        if topology is None:
            return Glance(None, "no topology is read here")
        reading = self._reading.setdefault(lockserver, asyncio.Lock())
        before = self._kept.get(lockserver)
        if before is not None and before.glance.picture is None and reading.locked():
            # One waits for a lockserver that was silent last time; all others have other things to do.
            return before.glance
        async with reading:
            kept = self._kept.get(lockserver)
            if kept is not None and self._runtime.monotonic() < kept.until:
                return kept.glance
            glance = await self._read(lockserver, topology)
            patience = _FRESH_SECONDS if glance.picture is not None else _SILENT_SECONDS
            self._kept[lockserver] = _Kept(glance, self._runtime.monotonic() + patience)
            return glance

    async def _read(self, lockserver: LockserverParams, topology: Topology) -> Glance:
        now, silent = self._runtime.monotonic(), self._silent.get(lockserver, {})
        recent = {cell: entry for cell, entry in silent.items() if now < entry[1]}
        try:
            picture = await read_picture(topology, known_silent={cell: why for cell, (why, _) in recent.items()})
        except TopologyError as error:
            return Glance(None, str(error))
        until = self._runtime.monotonic() + _SILENT_CELL_SECONDS
        self._silent[lockserver] = {cell: recent.get(cell, (why, until)) for cell, why in picture.silent.items()}
        return Glance(picture)
