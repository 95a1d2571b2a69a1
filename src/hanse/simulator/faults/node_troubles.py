"""Which nodes of a cluster are dead or slow at this moment; kubelets and heartbeats look here."""

from __future__ import annotations

from collections.abc import Mapping

# How soon a node that was dead notices that it is not any more.
REVIVAL_SECONDS = 1.0


class NodeTroubles:
    """What is wrong with the nodes of one cluster."""

    def __init__(self) -> None:
        self._lost: frozenset[str] = frozenset()
        self._delays: Mapping[str, float] = {}

    def is_lost(self, node: str) -> bool:
        """Tell whether a node is dead: it sends no heartbeats and does nothing with its pods."""
        return node in self._lost

    def delay(self, node: str) -> float:
        """Return how many seconds later than usual pods start on a node."""
        return self._delays.get(node, 0.0)

    def set(self, lost: frozenset[str], delays: Mapping[str, float]) -> None:
        """Say which nodes are dead and which are slow from now on."""
        self._lost, self._delays = lost, delays
