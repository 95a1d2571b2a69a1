"""Which attempt to place each pod this cluster has seen last: what comes late with a lower number is over."""

from __future__ import annotations

from collections import OrderedDict

from hanse.kube.manifest import Obj
from hanse.pods.chaperons.pods import parent_of
from hanse.pods.chaperons.reading import attempt_of

_REMEMBERED = 20_000


class Attempts:
    """The highest attempt for each pod of each source, of the pods that were seen last.

    It is the keeper's own memory of chaperons that are gone; those that are there speak for themselves again after a
    restart.
    """

    def __init__(self, remembered: int = _REMEMBERED) -> None:
        self._remembered = remembered
        self._highest: OrderedDict[tuple[str, str], int] = OrderedDict()

    def note(self, chaperon: Obj) -> int:
        """Take a chaperon's attempt into account and return the highest for its pod; 0 where it names no pod."""
        parent = parent_of(chaperon)
        if not parent[1]:
            return 0
        highest = max(attempt_of(chaperon), self._highest.pop(parent, 0))
        self._highest[parent] = highest
        if len(self._highest) > self._remembered:
            self._highest.popitem(last=False)
        return highest
