"""Creations and deletions of our own that the cache does not show yet.

The names of pods are chosen before they are created, so each write is known by its key from the start: a lagging cache
neither doubles a creation nor repeats a deletion. What the cache never shows (its watch was broken meanwhile) is
forgotten after a while, as in the Kubernetes controllers.
"""

from __future__ import annotations

from hanse.kube.manifest import Key

_FORGOTTEN_AFTER_SECONDS = 300.0


class Expectations:
    """What one owner's writes will make the cache show."""

    def __init__(self) -> None:
        self._coming: dict[Key, float] = {}
        self._leaving: dict[Key, float] = {}
        self._uncertain: list[Key] = []

    def coming(self, now: float) -> set[Key]:
        """Return the keys that were created and not seen yet."""
        return _current(self._coming, now)

    def leaving(self, now: float) -> set[Key]:
        """Return the keys that were deleted and are still shown as they were."""
        return _current(self._leaving, now)

    def expect(self, key: Key, now: float) -> None:
        """Note a creation that is about to be asked for."""
        self._coming[key] = now

    def expect_gone(self, key: Key, now: float) -> None:
        """Note a deletion that is about to be asked for."""
        self._leaving[key] = now

    def refused(self, key: Key) -> None:
        """Note that the server refused what was expected."""
        self._coming.pop(key, None)
        self._leaving.pop(key, None)

    def unanswered(self, key: Key) -> None:
        """Note a creation without an answer: the same name is to be tried again, so that it is not made twice."""
        if self._coming.pop(key, None) is not None:
            self._uncertain.append(key)

    def take_uncertain(self) -> Key | None:
        """Return a key whose creation had no answer, if there is one."""
        return self._uncertain.pop(0) if self._uncertain else None

    def seen(self, key: Key) -> None:
        """Note that the cache shows a pod now."""
        self._coming.pop(key, None)
        if key in self._uncertain:
            self._uncertain.remove(key)

    def gone(self, key: Key) -> None:
        """Note that the cache shows a pod as deleted or on its way out."""
        self.seen(key)
        self._leaving.pop(key, None)


def _current(noted: dict[Key, float], now: float) -> set[Key]:
    for key in [key for key, since in noted.items() if now - since > _FORGOTTEN_AFTER_SECONDS]:
        del noted[key]
    return set(noted)
