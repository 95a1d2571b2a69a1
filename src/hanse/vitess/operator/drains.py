"""What a tablet's Pod says of its draining, as far as the one that asks for it has to know."""

from __future__ import annotations

from hanse.api.planetscale.kinds import (
    DRAIN_ACKNOWLEDGED_ANNOTATION,
    DRAIN_FINISHED_ANNOTATION,
    DRAIN_STARTED_ANNOTATION,
)
from hanse.kube.manifest import Obj, annotations_of


def drain_finished(pod: Obj) -> bool:
    """Tell whether a tablet may go: it was asked to drain, and it has."""
    said = annotations_of(pod)
    return all(
        name in said for name in (DRAIN_STARTED_ANNOTATION, DRAIN_ACKNOWLEDGED_ANNOTATION, DRAIN_FINISHED_ANNOTATION)
    )
