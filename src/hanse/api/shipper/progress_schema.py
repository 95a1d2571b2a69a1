"""The schema of what a Release remembers of the step that it is in.

Hanse's own; fields that a later Hanse adds are kept as they are, so that an earlier one takes nothing away.
"""

from __future__ import annotations

from typing import Any

from hanse.api.cluster_kind import record, text
from hanse.api.shipper.environment_schema import ANYTHING, number


def _memory(fields: dict[str, Any], description: str) -> dict[str, Any]:
    return {**record(fields, description), **ANYTHING}


def _mark(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


_TALLY = _memory(
    {
        "asked": number("How often it was asked"),
        "failed": number("How many answers were bad"),
        "inconclusive": number("How many answers were neither good nor bad"),
        "at": text("When the last answer came"),
        "outcome": text("What the last answer was: Success, Failure or Inconclusive"),
        "value": text("What the last answer said, in a few words"),
    },
    "The answers to one check",
)

_FAILURE = _memory(
    {
        "message": text("What failed: a check, or the step's deadline"),
        "cause": text("The same in one word: CheckFailed, Inconclusive or DeadlineExceeded"),
        "remedy": text("What is done about it: Pause, Abort or Rollback"),
        "carriedOut": _mark("Whether that was done"),
        "frozen": _mark("Whether the Release was seen paused since then"),
        "overridden": _mark("Whether a person let the step go on nevertheless"),
    },
    "Why the step stands still",
)

PROGRESS = _memory(
    {
        "step": number("The step that this is about; another spec.targetStep begins anew"),
        "since": text("When the step was asked for"),
        "achievedAt": text("When it was achieved first"),
        "heldSeconds": {
            "type": "number",
            "description": "How long it was paused or blocked before, which does not count for its deadline",
        },
        "heldSince": text("Since when it is paused or blocked"),
        "wellSince": {
            "type": "object",
            "additionalProperties": text(),
            "description": "Since when each wave that pauses has been ready",
        },
        "checks": {
            "type": "object",
            "additionalProperties": _TALLY,
            "description": "What each check of the step answered, by its name",
        },
        "failure": _FAILURE,
        "waitsFor": text("What the Release waits for, in one sentence"),
    },
    "What pauses, waves, checks and deadlines have to remember of the present step",
)
