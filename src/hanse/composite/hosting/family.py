"""Who owns what of one kind in one cluster, kept current so that nobody has to look through everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hanse.kube.cache import Cache, Change
from hanse.kube.manifest import Key, Obj, controller_of, labels_of, namespace_of
from hanse.kube.selectors import LabelSelector

_EVERYWHERE = ""
_EXACT = frozenset({"=", "==", "in"})


class Family:
    """The objects of one kind by their controller, and those without one by their labels."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._index: dict[tuple[str, ...], set[Key]] = {}

    def follow(self) -> Callable[[], None]:
        """Keep current from now on; what is returned ends that."""
        return self._cache.subscribe(self._changed)

    def children_of(self, uid: str) -> Iterator[Obj]:
        """Yield what an object controls."""
        return self._read(self._index.get(_owner(uid), ()))

    def orphans(self, selector: LabelSelector, namespace: str = _EVERYWHERE) -> Iterator[Obj]:
        """Yield what nobody controls and a selector matches, in one namespace where named."""
        for obj in self._read(self._candidates(selector, namespace)):
            if selector.matches(labels_of(obj)):
                yield obj

    def _candidates(self, selector: LabelSelector, namespace: str) -> Iterable[Key]:
        exact = next((each for each in selector.requirements if each.operator in _EXACT), None)
        if exact is None:
            return self._index.get(_orphan(namespace), ())
        return {key for value in exact.values for key in self._index.get(_label(namespace, exact.key, value), ())}

    def _read(self, keys: Iterable[Key]) -> Iterator[Obj]:
        for key in sorted(keys):
            obj = self._cache.get(key)
            if obj is not None:
                yield obj

    def _changed(self, change: Change) -> None:
        before, after = set(_places(change.old)), set(_places(change.new))
        for place in before - after:
            self._index[place].discard(change.key)
            if not self._index[place]:
                del self._index[place]
        for place in after - before:
            self._index.setdefault(place, set()).add(change.key)


def _places(obj: Obj | None) -> Iterator[tuple[str, ...]]:
    if obj is None:
        return
    controller = controller_of(obj)
    if controller is not None:
        yield _owner(controller["uid"])
        return
    for namespace in {namespace_of(obj), _EVERYWHERE}:
        yield _orphan(namespace)
        for key, value in labels_of(obj).items():
            yield _label(namespace, key, value)


def _owner(uid: str) -> tuple[str, ...]:
    return ("owner", uid)


def _orphan(namespace: str) -> tuple[str, ...]:
    return ("orphan", namespace)


def _label(namespace: str, key: str, value: str) -> tuple[str, ...]:
    return ("label", namespace, key, value)
