"""Whether a release is installed: every piece of it, in every cluster that was chosen for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hanse.kube.manifest import is_deleting
from hanse.propagation.report import Row
from hanse.rollouts.targets.statuses import (
    AS_WANTED,
    IN_PROGRESS,
    INTERNAL_ERROR,
    Verdict,
    not_operational,
    not_ready,
)

# The engine's word for an object that is there already and is somebody else's.
_TAKEN = "AlreadyExists"
# So many pieces are named that are still on their way.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class PieceFacts:
    """What is known of one piece: its object in people's words, and what the engine says of it.

    The replicas of a `scaled` one change with the release's capacity, which is no matter of its installation. One that
    a newer release of the application speaks for is `superseded`, and the rows are then those of that one. `problem`
    keeps it from every cluster.
    """

    object: str
    rows: Mapping[str, Row] = field(default_factory=dict)
    scaled: bool = False
    superseded: bool = False
    problem: str = ""


def installed(cluster: str, pieces: Sequence[PieceFacts]) -> Verdict:
    """Judge a release in one cluster: what will not mend itself is named before what is merely on its way."""
    found = [verdict for piece in pieces if not (verdict := _judged(cluster, piece)).ready]
    for verdict in found:
        if not verdict.operational or verdict.reason != IN_PROGRESS:
            return verdict
    if not found:
        return AS_WANTED
    return not_ready(IN_PROGRESS, f"waiting for {_some(verdict.message for verdict in found)}")


def _judged(cluster: str, piece: PieceFacts) -> Verdict:
    if piece.problem:
        return not_ready(INTERNAL_ERROR, f"{piece.object}: {piece.problem}")
    row = piece.rows.get(cluster)
    if row is None:
        return not_ready(IN_PROGRESS, piece.object)
    if piece.superseded:
        elsewhere = f"{piece.object} is not kept here: a newer release speaks for it, which is not in this cluster"
        return not_ready(INTERNAL_ERROR, elsewhere) if row.wanted is None else AS_WANTED
    if not row.live:
        return not_operational(f"{piece.object}: {row.trouble or row.held or 'the cluster may not be used for it'}")
    if _is_there(row, scaled=piece.scaled):
        return AS_WANTED
    if row.reason == _TAKEN:
        return not_ready(
            INTERNAL_ERROR,
            f"{piece.object} cannot be updated as it does not belong to the application: {row.trouble}",
        )
    if row.trouble or row.held:
        return not_ready(INTERNAL_ERROR, f"{piece.object}: {row.trouble or row.held}")
    return not_ready(IN_PROGRESS, piece.object)


def _is_there(row: Row, *, scaled: bool) -> bool:
    if row.wanted is None or row.observed is None or is_deleting(row.observed):
        return False
    return scaled or row.settled


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    shown = ", ".join(listed[:_NAMED])
    return shown if len(listed) <= _NAMED else f"{shown} and {len(listed) - _NAMED} more"
