"""What the federation asks of the tablets of a shard, whoever carries it there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.tokens import Reparent


class ReparentFailed(Exception):
    """A primary was not changed, and why, in one sentence."""


@dataclass(frozen=True, slots=True)
class Replication:
    """How far behind a tablet is, None where it does not say, and how many transactions it has."""

    lag: float | None = None
    position: int = 0


class Tablets(Protocol):
    """Asks the tablets of one Vitess."""

    async def replication(self, aliases: Collection[str]) -> Mapping[str, Replication]:
        """Return how tablets replicate; those that do not answer are left out."""

    async def reparent(self, shard: ShardId, change: Reparent) -> None:
        """Change a shard's primary as planned, only if the expected one still is it; raises ReparentFailed."""
