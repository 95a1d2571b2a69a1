"""Creations of pods that may still come: written on a chaperon before they are sent, and waited out where they must be.

Only one keeper gets its word onto a version of a chaperon, so that of two, as during a change of lead, one makes the
pod. What it sent may arrive after it has died. Whoever finds its word and no pod waits for as long as a request may
take, by its own clock from when it saw the word.
"""

from __future__ import annotations

from collections import OrderedDict

from hanse.kube.manifest import Obj, uid_of
from hanse.kube.runtime import Runtime
from hanse.pods.chaperons.reading import fence_of

# For so long a request that was sent may come to pass: the client's own patience with it.
LATE_SECONDS = 30.0
_REMEMBERED = 20_000


class Makings:
    """The words that this keeper has written or seen, and since when."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._own: OrderedDict[str, None] = OrderedDict()
        self._since: OrderedDict[tuple[str, str], float] = OrderedDict()

    def begin(self) -> str:
        """Return a word for a creation that is about to be sent."""
        word = self._runtime.uid()
        self._own[word] = None
        if len(self._own) > _REMEMBERED:
            self._own.popitem(last=False)
        return word

    def refused(self, chaperon: Obj) -> None:
        """Note that a creation was surely not carried out; one that broke off before may still be."""
        self._since.setdefault((uid_of(chaperon), making_of(chaperon)), self._runtime.monotonic() - LATE_SECONDS)

    def broke_off(self, chaperon: Obj) -> None:
        """Note that a creation has ended and nobody said how."""
        self._see((uid_of(chaperon), making_of(chaperon)))

    def is_own(self, chaperon: Obj) -> bool:
        """Tell whether the word on a chaperon is this keeper's."""
        return making_of(chaperon) in self._own

    def late(self, chaperon: Obj) -> float:
        """Return for how many seconds more a pod may come of a creation that was announced; 0 where none may."""
        seen = uid_of(chaperon), making_of(chaperon)
        if not seen[1]:
            return 0.0
        since = self._since[seen] if seen in self._since else self._see(seen)
        return max(0.0, since + LATE_SECONDS - self._runtime.monotonic())

    def _see(self, seen: tuple[str, str]) -> float:
        self._since.pop(seen, None)
        self._since[seen] = self._runtime.monotonic()
        if len(self._since) > _REMEMBERED:
            self._since.popitem(last=False)
        return self._since[seen]


def making_of(chaperon: Obj) -> str:
    """Return the word of a creation that was announced and of whose pod nothing was recorded, "" where none was."""
    return str(fence_of(chaperon.get("status")).get("making") or "")
