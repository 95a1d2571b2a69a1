"""What became of a test, read from the JUnit report of the upstream binary."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How a test ended."""

    PASSED = "passed"
    FAILED = "failed"
    # The test itself found that this cluster is none for it.
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one test ended on one cluster, how long it took, and what it complained of."""

    verdict: Verdict
    seconds: float = 0.0
    message: str = ""


_VERDICTS = {"failure": Verdict.FAILED, "error": Verdict.FAILED, "skipped": Verdict.SKIPPED}


def outcome_in(report: str, name: str) -> Outcome:
    """Return what a report says of a test; one that says nothing of it is a failure."""
    for case in ET.fromstring(report).iter("testcase"):
        # The simplified reports put the kind of node before the name, and labels behind it.
        if name not in case.get("name", ""):
            continue
        seconds = float(case.get("time") or 0)
        for tag, verdict in _VERDICTS.items():
            if (found := case.find(tag)) is not None:
                return Outcome(verdict, seconds, (found.get("message") or found.text or "").strip())
        return Outcome(Verdict.PASSED, seconds)
    return Outcome(Verdict.FAILED, message="the report does not name the test")
