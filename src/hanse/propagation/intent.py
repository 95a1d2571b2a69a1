"""What a front door makes of a user's object: the one form that the engine understands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from hanse.kube.manifest import Key, Obj
from hanse.kube.resources import Resource
from hanse.placement.ask import Override, Placement


class Ref(NamedTuple):
    """One source object: its kind and its key."""

    resource: Resource
    key: Key

    def __str__(self) -> str:
        return f"{self.resource.plural}/{self.key}"


@dataclass(frozen=True, slots=True)
class Intent:
    """What shall be where.

    `template` is what every chosen cluster gets, `replicas` (None for kinds without) is divided among them. `overrides`
    change the template for some clusters. `sources` say who asked for the placement, the one that counts most first.
    `orphan` leaves the copies behind when the source is deleted.
    """

    resource: Resource
    key: Key
    source_uid: str
    template: Obj
    placement: Placement = field(default_factory=Placement)
    replicas: int | None = None
    overrides: tuple[Override, ...] = ()
    sources: tuple[str, ...] = ()
    orphan: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an object cannot be translated; what it has in the members stays as it is."""

    reason: str
    message: str
