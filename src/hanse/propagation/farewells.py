"""Workloads that leave a cluster: their last replicas stay until their clients have been led elsewhere.

The engine knows that replicas shall go, somebody else who their clients are. Until that somebody says that nobody comes
any more, the copy stays as it is; what is scaled down to nothing everywhere has nowhere to lead clients to, and goes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from hanse.kube.manifest import Obj, dig
from hanse.propagation.comparison import Absent, Kept, Present, Wanted
from hanse.propagation.intent import Ref
from hanse.propagation.planning import UNSEEN, Observation
from hanse.propagation.scale import WORKLOAD


@dataclass(frozen=True, slots=True)
class Pods:
    """Pods of a workload in one cluster: their labels, and how many of them are available."""

    labels: tuple[tuple[str, str], ...]
    available: int


class Usher(Protocol):
    """Leads clients away from pods that shall leave a cluster."""

    def part(self, workload: Ref, leaving: Mapping[str, Pods], staying: Collection[str]) -> Mapping[str, float]:
        """Take in which clusters shall lose the pods of a workload, and which shall have them.

        Returns the seconds for which each of those that lose them had better keep them.
        """


class Farewells:
    """Holds back what takes the last replicas from a cluster."""

    def __init__(self) -> None:
        # What shall leave waits for all of them; there are none where nobody leads clients.
        self.ushers: list[Usher] = []

    def hold_back(
        self, ref: Ref, wanted: dict[str, Wanted], seen: Mapping[str, Observation]
    ) -> tuple[dict[str, Wanted], float | None]:
        """Return what may be asked of the clusters now, and when more may be even if nothing happens."""
        if not self.ushers:
            return wanted, None
        leaving = {
            name: pods for name, wish in wanted.items() if (pods := leaving_pods(wish, seen.get(name, UNSEEN).copy))
        }
        staying = [name for name, wish in wanted.items() if isinstance(wish, Present) and name not in leaving]
        waits: dict[str, float] = {}
        for usher in self.ushers:
            for name, wait in usher.part(ref, leaving, staying).items():
                if wait > 0:
                    waits[name] = max(wait, waits.get(name, 0.0))
        if not waits:
            return wanted, None
        return {name: _kept(wish) if name in waits else wish for name, wish in wanted.items()}, min(waits.values())


def leaving_pods(wish: Wanted, copy: Obj | None) -> Pods | None:
    """Return the pods that a copy loses by a wish, where it has some and loses all of them; None where it does not."""
    labels = dig(copy, "spec", "template", "metadata", "labels", default={})
    if copy is None or not labels or not WORKLOAD.available_in(copy) or not _takes_all(wish):
        return None
    return Pods(tuple(sorted(labels.items())), WORKLOAD.available_in(copy))


def _takes_all(wish: Wanted) -> bool:
    match wish:
        case Absent():
            return True
        case Present(manifest=manifest):
            return bool(dig(manifest, *WORKLOAD.replicas) == 0)
        case Kept(numbers=numbers):
            return (WORKLOAD.replicas, 0) in numbers
    return False


def _kept(wish: Wanted) -> Wanted:
    return wish if not isinstance(wish, Absent | Present | Kept) else Kept(wish.source_uid, inherits=wish.inherits)
