"""Creations of pods that may still come: written on a chaperon before they are sent, and waited out where they must be.

Only one keeper gets its word onto a version of a chaperon, so that of two, as during a change of lead, one makes the
pod. What it sent may arrive after it has died. Whoever finds its word and no pod waits for as long as a request may
take, by its own clock from when it saw the word. Where the same process makes chaperons and keeps them, they bear its
word from the beginning, which saves a write for every pod.
"""

from __future__ import annotations

from collections import OrderedDict

from hanse.api.admiralty.keys import MAKER
from hanse.kube.manifest import Obj, annotations_of, uid_of
from hanse.kube.runtime import Runtime
from hanse.pods.chaperons.pods import had_pod
from hanse.pods.chaperons.reading import fence_of

# For so long a request that was sent may come to pass: the client's own patience with it.
LATE_SECONDS = 30.0
_REMEMBERED = 20_000


class Makings:
    """The words that this keeper has written or seen, and since when."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        # With which chaperons may be created whose pods this keeper shall make.
        self.word = runtime.uid()
        self._own: OrderedDict[str, None] = OrderedDict()
        self._since: OrderedDict[tuple[str, str], float] = OrderedDict()
        # Chaperons for which this keeper has sent a creation.
        self._sent: OrderedDict[str, None] = OrderedDict()

    def begin(self) -> str:
        """Return a word for a creation that is about to be sent."""
        word = self._runtime.uid()
        self._own[word] = None
        if len(self._own) > _REMEMBERED:
            self._own.popitem(last=False)
        return word

    def sends(self, chaperon: Obj) -> None:
        """Note that a creation is being sent."""
        self._sent[uid_of(chaperon)] = None
        if len(self._sent) > _REMEMBERED:
            self._sent.popitem(last=False)

    def may_be_there(self, chaperon: Obj) -> bool:
        """Tell whether a pod may have been made of which nothing was recorded, by this keeper or by another."""
        word = making_of(chaperon)
        return bool(word) and (word != self.word or uid_of(chaperon) in self._sent)

    def refused(self, chaperon: Obj) -> None:
        """Note that a creation was surely not carried out; one that broke off before may still be."""
        self._since.setdefault((uid_of(chaperon), making_of(chaperon)), self._runtime.monotonic() - LATE_SECONDS)

    def broke_off(self, chaperon: Obj) -> None:
        """Note that a creation has ended and nobody said how."""
        self._see((uid_of(chaperon), making_of(chaperon)))

    def is_own(self, chaperon: Obj) -> bool:
        """Tell whether the word on a chaperon is this keeper's."""
        word = making_of(chaperon)
        return word == self.word or word in self._own

    def late(self, chaperon: Obj) -> float:
        """Return for how many seconds more a pod may come of a creation that was announced; 0 where none may."""
        seen = uid_of(chaperon), making_of(chaperon)
        if not seen[1] or (seen[1] == self.word and seen not in self._since):
            # Whatever was sent under that word was answered, or is being waited for.
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
    announced = fence_of(chaperon.get("status")).get("making")
    if announced or had_pod(chaperon):
        return str(announced or "")
    return annotations_of(chaperon).get(MAKER, "")
