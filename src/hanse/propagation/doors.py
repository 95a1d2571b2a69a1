"""The front doors of a federation put together: each source object goes through the door of its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hanse.kube.cache import Change
from hanse.kube.manifest import Key
from hanse.kube.resources import Resource
from hanse.propagation.door import Affected, Door, Inputs
from hanse.propagation.intent import Ref


class Doors:
    """Finds the door of a source; a kind that two doors know belongs to the first of them."""

    def __init__(self, doors: Sequence[Door]) -> None:
        self._doors = tuple(doors)
        self._by_kind: dict[Resource, Door] = {}
        self._by_target: dict[Resource, list[Resource]] = {}
        self._inputs = tuple(dict.fromkeys(kind for door in self._doors for kind in door.inputs))
        self._is_input = frozenset(self._inputs)
        self._of_any_kind: list[Resource] = []
        for door in self._doors:
            for kind in door.resources:
                if self._by_kind.setdefault(kind, door) is not door:
                    continue
                if door.any_kind:
                    self._of_any_kind.append(kind)
                else:
                    self._by_target.setdefault(door.target(Ref(kind, _ANY)).resource, []).append(kind)

    @property
    def names(self) -> list[str]:
        """What people call the doors."""
        return [door.name for door in self._doors]

    @property
    def resources(self) -> Sequence[Resource]:
        """The kinds of sources of all doors."""
        return list(self._by_kind)

    @property
    def inputs(self) -> Sequence[Resource]:
        """The kinds that say what sources mean."""
        return self._inputs

    def is_input(self, kind: Resource) -> bool:
        """Tell whether objects of a kind say what sources mean."""
        return kind in self._is_input

    def informed(self, inputs: Inputs) -> Doors:
        """Return the doors that know these inputs."""
        return Doors([door.informed(inputs) for door in self._doors])

    def of(self, kind: Resource) -> Door:
        """Return the door of a kind of sources."""
        return self._by_kind[kind]

    def find(self, source: Ref) -> Door | None:
        """Return the door of a source, None where no door takes such objects any more."""
        return self._by_kind.get(source.resource)

    @property
    def targets(self) -> Sequence[Resource]:
        """The kinds that members hold of the sources."""
        return list(self._by_target)

    def kinds_for(self, target: Resource) -> Sequence[Resource]:
        """Return the kinds of sources of which members hold objects of this kind."""
        return [*self._by_target.get(target, ()), *self._of_any_kind]

    def affected(self, resource: Resource, change: Change) -> Iterator[tuple[Door, Affected]]:
        """Yield for each door that looks at an input which sources its change speaks of."""
        for door in self._doors:
            if resource in door.inputs:
                yield door, door.affected(resource, change)

    def kinds_of(self, door: Door) -> list[Resource]:
        """Return the kinds of sources that go through a door."""
        return [kind for kind, own in self._by_kind.items() if own is door]


_ANY = Key("any", "any")
