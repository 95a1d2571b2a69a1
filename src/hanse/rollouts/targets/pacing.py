"""When a changed status is written: at once where somebody waits for it, in steps while pods come and go."""

from __future__ import annotations

from collections.abc import Hashable

# Members report a rollout pod by pod; a target's status follows in steps of this size.
STEP_SECONDS = 0.3


class Pace:
    """Remembers since when changes wait to be told."""

    def __init__(self) -> None:
        self._since: dict[Hashable, float] = {}

    def wait(self, key: Hashable, now: float, *, urgent: bool) -> float:
        """Return how long a changed status waits for more to happen; 0 where it is written now."""
        rest = 0.0 if urgent else self._since.setdefault(key, now) + STEP_SECONDS - now
        if rest <= 0.0:
            self.forget(key)
        return max(0.0, rest)

    def forget(self, key: Hashable) -> None:
        """Forget a status of which there is nothing to tell any more."""
        self._since.pop(key, None)
