"""How children are named and held together: one form of key for observing, claiming and rolling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hanse.kube.manifest import Obj, name_of, namespace_of
from hanse.kube.resources import Resource

# What exists of every kind that a controller declares; a kind of which there is nothing is there, and empty.
Observed = Mapping[Resource, Sequence[Obj]]


class ChildId(NamedTuple):
    """Which child: its kind, its place and its name; `cluster` is "" beside the parent."""

    api_version: str
    kind: str
    namespace: str
    name: str
    cluster: str = ""

    def __str__(self) -> str:
        place = f" in {self.cluster}" if self.cluster else ""
        return f"{self.kind} {self.name}{place}"


def child_id(obj: Obj, cluster: str = "") -> ChildId:
    """Return which child an object is."""
    return ChildId(obj["apiVersion"], obj["kind"], namespace_of(obj), name_of(obj), cluster)


def by_id(observed: Observed, cluster: str = "") -> dict[ChildId, Obj]:
    """Return what exists by which child it is."""
    return {child_id(obj, cluster): obj for objects in observed.values() for obj in objects}
