"""Whether a release stands still for a check, a deadline or a pause, told as a condition that kubectl can show: pure.

Shipper has no such condition. It is there only while there is something to say, so that a rollout that uses nothing
beyond Shipper shows Shipper's conditions and no others.
"""

from __future__ import annotations

from hanse.api.shipper.kinds import PAUSED_ANNOTATION
from hanse.kube.conditions import condition
from hanse.kube.manifest import Obj, annotations_of, is_deleting

HELD = "Held"
CHECK_FAILED, INCONCLUSIVE, DEADLINE_EXCEEDED, PAUSED = "CheckFailed", "Inconclusive", "DeadlineExceeded", "Paused"
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
        return condition(HELD, True, _reason(str(failure.get("message")), progress), waits_for)
    if annotations_of(release).get(PAUSED_ANNOTATION) == "true":
        return condition(HELD, True, PAUSED, _PAUSED)
    return None


def _reason(message: str, progress: Obj) -> str:
    """Tell failures apart by their sentences: nothing else is stored of them."""
    for name in progress.get("checks") or ():
        if message.startswith(f'check "{name}" found no answer'):
            return INCONCLUSIVE
    return CHECK_FAILED if message.startswith('check "') else DEADLINE_EXCEEDED
