"""Which kinds members are asked for: those of which there is a source; of many kinds most federations have none."""

from __future__ import annotations

from collections.abc import Sequence

from hanse.kube.resources import NAMESPACES, Resource
from hanse.propagation.door import Door


class UsedKinds:
    """Remembers of which kinds there has been a source."""

    def __init__(self) -> None:
        self._used = {NAMESPACES}
        # Those of doors whose sources are of any kind, and which no other door may know.
        self._free: set[Resource] = set()

    def add(self, door: Door, kind: Resource) -> bool:
        """Note that there is a source of a kind; tells whether that is news."""
        used = self._free if door.any_kind else self._used
        news = kind not in used
        used.add(kind)
        return news

    def among(self, targets: Sequence[Resource]) -> list[Resource]:
        """Return the kinds that members have to be followed for, where doors have these targets."""
        fixed = [kind for kind in targets if kind in self._used]
        return list(dict.fromkeys((*fixed, *sorted(self._free, key=str))))
