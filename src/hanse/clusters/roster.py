"""The clusters among which an engine places: those of the registry, or those that one cluster of it may reach."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeAlias

from hanse.api.clusters import Cluster
from hanse.clusters.member import Member, PullMember

Attachment: TypeAlias = Callable[[Member | PullMember], Coroutine[Any, Any, None]]


class Roster(Protocol):
    """Knows clusters, connects to each of them, and runs for each what is attached."""

    def attach(self, work: Attachment) -> None:
        """Run `work` for every member while it is there."""

    def subscribe(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with a cluster's name when anything that placement may look at has changed."""

    def clusters(self) -> Sequence[Cluster]:
        """Return what is known of every cluster, in order of name; raises NotSynced before that is known."""

    async def wait_synced(self) -> None:
        """Wait until every cluster is known."""
