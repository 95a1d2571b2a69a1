"""Tells what is due for one pod: each wait begins when it is first asked for."""

from __future__ import annotations

from hanse.simulator.world import SHORTEST_WAIT_SECONDS


class Stopwatch:
    """The waits of one pod at one moment; `next_seconds` says when to look again."""

    def __init__(self, began: dict[str, float], now: float) -> None:
        self._began = began
        self._now = now
        self.next_seconds: float | None = None

    def due(self, what: str, seconds: float) -> bool:
        """Tell whether something has lasted so long."""
        left = self._began.setdefault(what, self._now) + seconds - self._now
        if left <= SHORTEST_WAIT_SECONDS:
            return True
        self.next_seconds = left if self.next_seconds is None else min(left, self.next_seconds)
        return False

    def forget(self, what: str) -> None:
        """Have a wait begin anew when it is asked for again."""
        self._began.pop(what, None)
