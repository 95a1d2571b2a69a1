"""What is told of a source object: one row a cluster, and the sentence that says what is missing."""

from __future__ import annotations

from dataclasses import dataclass

from hanse.kube.manifest import Obj, dig
from hanse.placement.decision import Decision
from hanse.propagation.rendering import rendered_digest

# A sentence names so many clusters; `hanse explain` names them all.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One cluster's part: what it shall have, what it was seen to have, what stands in the way.

    `live` is False for a cluster that cannot be asked; what it was last seen to have then counts for nothing.
    `reason` is the trouble in one word, for those who sort by it. What is `shared` (a namespace) is the cluster's own
    and is used as it is. `held` says why a cluster does not get it yet.
    """

    cluster: str
    wanted: Obj | None
    observed: Obj | None
    live: bool
    trouble: str = ""
    reason: str = ""
    shared: bool = False
    held: str = ""

    @property
    def settled(self) -> bool:
        """Whether the cluster has, and its controllers have seen, exactly what it shall have."""
        if self.wanted is None:
            return self.observed is None
        if self.shared:
            return True
        if self.observed is None or rendered_digest(self.observed) != rendered_digest(self.wanted):
            return False
        seen = dig(self.observed, "status", "observedGeneration")
        return seen is None or seen >= dig(self.observed, "metadata", "generation", default=0)


@dataclass(frozen=True, slots=True)
class Report:
    """All that a status can be made of.

    `progress` says how far a change that spreads cluster by cluster has come, and `stopped` that it goes no further.
    """

    decision: Decision
    rows: tuple[Row, ...]
    progress: str = ""
    stopped: bool = False

    @property
    def settled(self) -> bool:
        """Whether every cluster that answers has what it shall have."""
        return all(row.settled for row in self.rows if row.live)

    @property
    def missing(self) -> str:
        """What is missing, in one sentence; "" where nothing is."""
        if self.trouble or self.progress:
            return self.trouble or self.progress
        waiting = [row.cluster for row in self.rows if row.live and not row.settled]
        return f"waiting for {', '.join(waiting)}" if waiting else ""

    @property
    def trouble(self) -> str:
        """What will stay missing until somebody acts, in one sentence; "" where nothing will."""
        if not self.rows:
            return "no cluster has joined the federation"
        if not self.decision.chosen():
            stays = "; what is there stays" if any(row.observed is not None for row in self.rows) else ""
            return f"no cluster is chosen: {_nowhere(self.decision)}{stays}"
        for row in self.rows:
            if row.trouble:
                return f"{row.cluster}: {row.trouble}"
        if self.stopped:
            return self.progress
        if self.decision.unplaced:
            notes = "".join(f"; {note}" for note in self.decision.notes if note != self.decision.remedy)
            return f"{self.decision.unplaced} replicas find no place: {self.decision.remedy}{notes}"
        return self.decision.notes[0] if self.decision.notes else ""


def _nowhere(decision: Decision) -> str:
    """Say why no cluster is chosen: every reason once, with the clusters that it holds for."""
    names: dict[str, list[str]] = {}
    for verdict in decision.verdicts:
        names.setdefault(verdict.reasons[-1], []).append(verdict.cluster)
    return "; ".join(f"{_some(clusters)}: {reason}" for reason, clusters in names.items())


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
