"""What `hanse explain` has to say of one object."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.propagation.explanation import ClusterExplanation


@dataclass(frozen=True, slots=True)
class Explained:
    """An object over all clusters; `trouble` is what stands in the way of having everything that was asked for."""

    title: str
    summary: str
    clusters: list[ClusterExplanation]
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    trouble: str = ""
