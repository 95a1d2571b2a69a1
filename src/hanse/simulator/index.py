"""The objects of a cache by something they say: their owner, their namespace."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hanse.kube.cache import Cache, Change
from hanse.kube.manifest import Key, Obj, controller_of


class Index:
    """Groups the objects of a cache, kept current with it."""

    def __init__(self, cache: Cache, group: Callable[[Obj], str]) -> None:
        self._cache = cache
        self._group = group
        self._group_of: dict[Key, str] = {}
        self._members: dict[str, set[Key]] = {}
        cache.subscribe(self._changed)

    def objects(self, group: str) -> Iterator[Obj]:
        """Yield fresh copies of a group's objects, in the order of their names."""
        for key in sorted(self._members.get(group, ())):
            obj = self._cache.get(key)
            if obj is not None:
                yield obj

    def _changed(self, change: Change) -> None:
        before = self._group_of.pop(change.key, None)
        if before is not None:
            self._members[before].discard(change.key)
            if not self._members[before]:
                del self._members[before]
        new = change.new
        if new is not None:
            group = self._group_of[change.key] = self._group(new)
            self._members.setdefault(group, set()).add(change.key)


def controller_uid(obj: Obj) -> str:
    """Group by the controlling owner; objects without one are together under ""."""
    owner = controller_of(obj)
    return str(owner.get("uid") or "") if owner else ""
