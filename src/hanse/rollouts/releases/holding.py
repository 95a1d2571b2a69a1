"""Whether a release stands still for a check, a deadline or a pause, told as a condition that kubectl can show: pure.

Shipper has no such condition. It is there only while there is something to say, so that a rollout that uses nothing
beyond Shipper shows Shipper's conditions and no others.
"""

from __future__ import annotations

from hanse.api.shipper.kinds import PAUSED_ANNOTATION
from hanse.kube.conditions import condition
from hanse.kube.manifest import Obj, annotations_of, is_deleting
from hanse.rollouts.execution.progress import Cause

HELD = "Held"
PAUSED = "Paused"
_PAUSED = f"the release is paused: hanse rollout resume, or taking away its annotation {PAUSED_ANNOTATION}, goes on"


def holding(release: Obj, progress: Obj, waits_for: str) -> Obj | None:
    """Return the condition of a release that stands still, None where it does not.

    `waits_for` is what it waits for. A release that follows another waits for nothing of its own, whatever failed while
    it was the newest one.
    """
    if not waits_for or is_deleting(release):
        return None
    failure = progress.get("failure") or {}
    if failure and not failure.get("overridden"):
        return condition(HELD, True, str(failure.get("cause") or Cause.CHECK_FAILED), waits_for)
    if annotations_of(release).get(PAUSED_ANNOTATION) == "true":
        return condition(HELD, True, PAUSED, _PAUSED)
    return None
