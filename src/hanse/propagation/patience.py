"""Putting back what somebody changes again and again: at once, then ever more slowly, and not silently."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.propagation.intent import Ref

_FIRST_PAUSE_SECONDS = 1.0
_LAST_PAUSE_SECONDS = 60.0
# A field that stayed as it was put back for this long is no longer fought over.
_PEACE_SECONDS = 120.0
_TOLD_FROM = 4


@dataclass(frozen=True, slots=True)
class _Fight:
    digest: str
    rounds: int
    last: float


class Patience:
    """How often each copy was put back lately."""

    def __init__(self) -> None:
        self._fights: dict[Ref, _Fight] = {}

    def wait(self, ref: Ref, digest: str, now: float, *, drifted: bool) -> float:
        """Return how long to wait before putting a copy back; 0 means now, and counts as a round.

        A rendering that has itself changed never waits.
        """
        fight = self._fights.get(ref)
        if not drifted or fight is None or fight.digest != digest or now - fight.last > _PEACE_SECONDS:
            self._fights[ref] = _Fight(digest, 1 if drifted else 0, now)
            return 0.0
        pause = min(_FIRST_PAUSE_SECONDS * 2.0 ** (fight.rounds - 1), _LAST_PAUSE_SECONDS) if fight.rounds else 0.0
        if now < fight.last + pause:
            return fight.last + pause - now
        self._fights[ref] = _Fight(digest, fight.rounds + 1, now)
        return 0.0

    def told(self, ref: Ref) -> str:
        """Return what is to be said of a fight, "" where there is none to speak of."""
        fight = self._fights.get(ref)
        if fight is None or fight.rounds < _TOLD_FROM:
            return ""
        return f"somebody keeps changing it there; it was put back {fight.rounds} times and is from now on more slowly"

    def forget(self, ref: Ref) -> None:
        """Forget a copy that is gone."""
        self._fights.pop(ref, None)
