"""Notices a hook whose output never settles, and says which field flaps.

Two signs are taken for it, both while the parent itself stays as it is: the same value is written to the same field
again and again (the server or somebody else puts another one there each time), or ever other values are. A rollout
that goes on for long, or a status that follows many pods, writes far less often than either.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from hanse.kube.patches.differences import Difference

WINDOW_SECONDS = 60.0
SAME_VALUE = 6
ANY_VALUE = 30
FIRST_REST_SECONDS = 30.0
LONGEST_REST_SECONDS = 600.0

_Field = tuple[str, str]


@dataclass(slots=True)
class _Parent:
    generation: int
    writes: dict[_Field, deque[tuple[float, str]]] = field(default_factory=dict)
    rests: int = 0
    until: float = 0.0
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Flapping:
    """A hook that is left alone for some seconds, and why."""

    seconds: float
    sentence: str


class Settling:
    """Remembers what was written for each parent lately."""

    def __init__(self) -> None:
        self._parents: dict[str, _Parent] = {}

    def wrote(self, uid: str, generation: int, target: str, changes: Iterable[Difference], now: float) -> None:
        """Remember that these fields of a child, or of the parent's status, were written."""
        parent = self._of(uid, generation)
        for change in changes:
            writes = parent.writes.setdefault((target, change.path), deque(maxlen=ANY_VALUE))
            writes.append((now, repr(change.new)))
            recent = [value for when, value in writes if now - when <= WINDOW_SECONDS]
            same = recent.count(repr(change.new))
            if same >= SAME_VALUE:
                self._rest(parent, now, _put_back(target, change, same))
            elif len(recent) >= ANY_VALUE:
                self._rest(parent, now, _changing(target, change, len(recent)))

    def made(self, uid: str, generation: int, target: str, now: float) -> None:
        """Remember that a child was made; one that is gone again each time is not to be made as fast as can be."""
        parent = self._of(uid, generation)
        writes = parent.writes.setdefault((target, ""), deque(maxlen=ANY_VALUE))
        writes.append((now, ""))
        times = sum(now - when <= WINDOW_SECONDS for when, _ in writes)
        if times >= SAME_VALUE:
            self._rest(parent, now, _vanishing(target, times))

    def resting(self, uid: str, generation: int, now: float) -> Flapping | None:
        """Tell whether a parent's hook is to be left alone for now."""
        parent = self._of(uid, generation)
        return Flapping(parent.until - now, parent.sentence) if now < parent.until else None

    def forget(self, uid: str) -> None:
        """A parent is gone."""
        self._parents.pop(uid, None)

    def _of(self, uid: str, generation: int) -> _Parent:
        parent = self._parents.get(uid)
        if parent is None or parent.generation != generation:
            parent = self._parents[uid] = _Parent(generation)
        return parent

    def _rest(self, parent: _Parent, now: float, sentence: str) -> None:
        parent.until = now + min(FIRST_REST_SECONDS * 2.0**parent.rests, LONGEST_REST_SECONDS)
        parent.rests += 1
        parent.sentence = sentence
        parent.writes.clear()


# Values are not told: any field of any kind may hold a secret.
def _put_back(target: str, change: Difference, times: int) -> str:
    return (
        f"the hook's output does not settle: {change.path} of {target} was set to the same value {times} times within"
        f" {WINDOW_SECONDS:.0f} s, and had another one again each time: return what the server stores, or leave it out"
    )


def _changing(target: str, change: Difference, times: int) -> str:
    return (
        f"the hook's output does not settle: {change.path} of {target} was changed {times} times within"
        f" {WINDOW_SECONDS:.0f} s: a hook must return the same for the same input"
    )


def _vanishing(target: str, times: int) -> str:
    return (
        f"the hook's output does not settle: {target} was made {times} times within {WINDOW_SECONDS:.0f} s, and was"
        " gone again each time: somebody deletes it, or this object is itself being deleted"
    )
