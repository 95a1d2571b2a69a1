"""Where an object keeps its replicas: the fields that are read and written when replicas divide over clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from hanse.kube.manifest import Obj, dig

Path = tuple[str, ...]
# How many of something an object tells of, where no single field says it.
Count: TypeAlias = Callable[[Obj], int]


@dataclass(frozen=True, slots=True)
class Scale:
    """The fields of one kind; those of most workloads are the default. What is only read may be counted instead.

    An object without a field for replicas, (), is one by being there.
    """

    replicas: Path = ("spec", "replicas")
    ready: Path | Count = ("status", "readyReplicas")
    available: Path | Count = ("status", "availableReplicas")
    running: Path | Count = ("status", "replicas")

    def asked(self, obj: Obj) -> int:
        """Return how many replicas an object asks for."""
        return _count(obj, self.replicas) if self.replicas else 1

    def ready_in(self, obj: Obj) -> int:
        """Return how many of its replicas are ready."""
        return _count(obj, self.ready)

    def available_in(self, obj: Obj) -> int:
        """Return how many of its replicas are available."""
        return _count(obj, self.available)

    def running_in(self, obj: Obj) -> int:
        """Return how many of its replicas may still run, those that are ending included."""
        return _count(obj, self.running)

    def asking(self, obj: Obj, replicas: int) -> Obj:
        """Return the object that asks for so many replicas."""
        return with_field(obj, self.replicas, replicas) if self.replicas else obj


WORKLOAD = Scale()


def with_field(obj: Obj, path: Path, value: Any) -> Obj:
    """Return the object with one field set; what is not on the way to it is shared with the object given."""
    first, *rest = path
    if not rest:
        return {**obj, first: value}
    return {**obj, first: with_field(obj.get(first) or {}, tuple(rest), value)}


def _count(obj: Obj, where: Path | Count) -> int:
    found = where(obj) if callable(where) else dig(obj, *where, default=0)
    return found if isinstance(found, int) else 0
