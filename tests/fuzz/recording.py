"""The numbers of a run as a line of bench/RESULTS.md."""

from __future__ import annotations

import subprocess
from collections import Counter
from datetime import UTC, datetime
from typing import Any

from bench.results import append_results, line

HEADING = """# Fuzzing: hostile requests, manifests and DNS packets

Cases made up from seeds (docs/reference/fuzzing.md), one after the other; the servers in processes of their own, the
readers in one process. outcomes: classes of HTTP answers (`ended`: a connection that was no request's), what became of
manifests, codes of DNS answers. slowest: the longest wait for one answer, one reader or one batch of 16 packets. MB:
memory after a tenth of the run and at its end, what was stored removed before (target: no growth). faults: answers of
500 and more that a kube-apiserver does not give too, hangs, exceptions, lines of the log (target: 0).

| date | commit | command | cases | outcomes | slowest s | MB, early / end | seconds | faults |
|---|---|---|---|---|---|---|---|---|
"""


def record(target: str, seed: int, tally: Any, seconds: float) -> None:
    """Append what a run saw."""
    early = tally.memory[len(tally.memory) // 10]
    append_results(
        [
            line(
                [
                    f"{datetime.now(UTC):%Y-%m-%d}",
                    _commit(),
                    f"`python -m tests.fuzz {target} --seed {seed} --count {tally.cases}`",
                    f"{tally.cases:,}",
                    _shown(tally.outcomes if target == "manifests" else tally.codes),
                    f"{tally.slowest:.2f}",
                    f"{early:.0f} / {tally.memory[-1]:.0f}",
                    f"{seconds:.0f}",
                    str(len(tally.faults)),
                ]
            )
        ],
        HEADING,
    )


def _shown(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counted.items()))


def _commit() -> str:
    asked = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
