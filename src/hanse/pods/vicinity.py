"""The placeholders of a source by what brings them together: their namespace, their controller, and whom they mind.

Whoever looks for the neighbours of one placeholder finds them here without looking at all the others. Terms of
(anti-)affinity mean the namespace of their own pod unless they name others; those that do are kept apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from hanse.api.admiralty.keys import GANG, PROXY_CONSTRAINTS, SPEC_CONSTRAINTS
from hanse.kube.manifest import Key, Obj, annotations_of, controller_of, dig
from hanse.pods.wishes.neighbours import Neighbour

_CONSTRAINTS = (PROXY_CONSTRAINTS, SPEC_CONSTRAINTS)
_KINDS = ("podAffinity", "podAntiAffinity")
_ABROAD = ("namespaces", "namespaceSelector")


def minds(placeholder: Obj) -> bool:
    """Tell whether where others are says anything of where a placeholder goes, or where they may."""
    return GANG in annotations_of(placeholder) or minds_company(placeholder)


def minds_company(placeholder: Obj) -> bool:
    """Tell whether a placeholder asks for anything of targets, which may be the pods that are there."""
    annotations = annotations_of(placeholder)
    return any(name in annotations for name in _CONSTRAINTS)


class Vicinity:
    """Finds placeholders that have to do with each other."""

    def __init__(self) -> None:
        self._known: dict[Key, Obj] = {}
        self._within: _Shelves = defaultdict(set)
        # Those that are not bound yet: only they are ever concerned by others.
        self._looking: _Shelves = defaultdict(set)
        self._gangs: _Shelves = defaultdict(set)
        self._minding: _Shelves = defaultdict(set)
        # Those that speak of pods in other namespaces than their own.
        self._roaming: set[Key] = set()

    def get(self, key: Key) -> Obj | None:
        """Return a placeholder, None where there is none."""
        return self._known.get(key)

    def put(self, key: Key, placeholder: Obj | None) -> None:
        """Take in a placeholder as it is now; None says that it is gone."""
        before = self._known.pop(key, None)
        if before is not None:
            for shelf, name in self._places(key, before):
                shelf[name].discard(key)
                if not shelf[name]:
                    del shelf[name]
            self._roaming.discard(key)
        if placeholder is None:
            return
        self._known[key] = placeholder
        for shelf, name in self._places(key, placeholder):
            shelf[name].add(key)
        if minds_company(placeholder) and _roams(placeholder):
            self._roaming.add(key)

    def around(self, key: Key, placeholder: Obj) -> set[Key]:
        """Return those on whom the place of a placeholder can depend, itself among them."""
        near = {key} | self._minding.get(key.namespace, set()) | self._roaming | self._kin(placeholder)
        if minds_company(placeholder):
            near |= self._known.keys() if _roams(placeholder) else self._within.get(key.namespace, set())
        return near

    def concerned_by(self, key: Key, other: Obj) -> Iterator[Key]:
        """Yield those that may have to be looked at again when one came, went or found a place."""
        found = self._minding.get(key.namespace, set()) | self._roaming | self._kin(other)
        looking = self._looking.get(key.namespace, set())
        if not dig(other, "spec", "affinity", "podAntiAffinity"):
            yield from (each for each in found if each != key)
            return
        # It may keep anybody away from where it is.
        everybody = set().union(*self._looking.values()) if _roams(other) else looking
        yield from (each for each in found | everybody if each != key)

    def _kin(self, placeholder: Obj) -> set[Key]:
        owner = controller_of(placeholder)
        return self._gangs.get(owner["uid"], set()) if owner is not None else set()

    def _places(self, key: Key, placeholder: Obj) -> Iterator[tuple[_Shelves, str]]:
        yield self._within, key.namespace
        if not Neighbour(placeholder).bound:
            yield self._looking, key.namespace
        if minds_company(placeholder):
            yield self._minding, key.namespace
        owner = controller_of(placeholder)
        if owner is not None and GANG in annotations_of(placeholder):
            yield self._gangs, owner["uid"]


_Shelves = defaultdict[str, set[Key]]


def _roams(placeholder: Obj) -> bool:
    """Tell whether a term of (anti-)affinity speaks of other namespaces; what cannot be read may."""
    affinity = dig(placeholder, "spec", "affinity") or {}
    return any(_speaks_abroad(affinity.get(kind)) for kind in _KINDS) if isinstance(affinity, dict) else True


def _speaks_abroad(value: Any) -> bool:
    if isinstance(value, dict):
        return any(
            name in _ABROAD or (name != "labelSelector" and _speaks_abroad(each)) for name, each in value.items()
        )
    return any(map(_speaks_abroad, value)) if isinstance(value, list) else False
