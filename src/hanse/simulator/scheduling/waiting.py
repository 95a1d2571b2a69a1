"""The pods that wait for a node: the most important first, then the oldest."""

from __future__ import annotations

import heapq

from hanse.kube.manifest import Key

_Rank = tuple[int, float, Key]


class Waiting:
    """A queue of pods in the order in which they are to be placed."""

    def __init__(self) -> None:
        self._ranks: dict[Key, _Rank] = {}
        self._heap: list[_Rank] = []

    def __bool__(self) -> bool:
        return bool(self._ranks)

    def add(self, key: Key, *, priority: int, created: float) -> None:
        """Have a pod wait; one that waits already gets its place anew."""
        rank = self._ranks[key] = (-priority, created, key)
        heapq.heappush(self._heap, rank)

    def discard(self, key: Key) -> None:
        """Forget a pod."""
        self._ranks.pop(key, None)

    def pop(self) -> Key | None:
        """Take out the pod whose turn it is; None where none waits."""
        while self._heap:
            rank = heapq.heappop(self._heap)
            # Entries of pods that left or were added anew stay in the heap until their turn.
            if self._ranks.get(rank[-1]) is rank:
                del self._ranks[rank[-1]]
                return rank[-1]
        return None
