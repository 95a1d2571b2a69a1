"""What a tablet asks of topology; who keeps it is not the tablet's business."""

from __future__ import annotations

from typing import Protocol

from hanse.api.vitess_records.topology import Shard, Tablet, TabletAlias


class RegistryOutOfReach(Exception):
    """Topology could not be read or written."""


class Registry(Protocol):
    """Topology, as far as a tablet writes and reads it; each call raises RegistryOutOfReach."""

    async def publish(self, tablet: Tablet) -> None:
        """Write a tablet's record, and make its shard known if it is the first."""

    async def tablet(self, alias: TabletAlias) -> Tablet | None:
        """Return the record of a tablet."""

    async def shard(self, keyspace: str, shard: str) -> Shard | None:
        """Return the record of a shard."""

    async def claim(self, tablet: Tablet) -> Shard:
        """Make a tablet its shard's primary unless another's term began later; returns what the shard says then."""
