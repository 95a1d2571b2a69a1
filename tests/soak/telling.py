"""What a soak says: while it runs, in the end, and in bench/RESULTS.md."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime

from bench.results import append_results, line
from tests.soak.counts import Count, Counts
from tests.soak.suites import SUITES, Played

_COLUMNS = (
    "date",
    "commit",
    "command",
    "first seed",
    "suite",
    "seeds",
    "faults",
    "seeds that broke a promise",
    "CPU s",
)
HEADING = f"""# Soak: random worlds that kept every promise

Histories on virtual time, each from a fresh seed: `docs/reference/random-worlds.md` says what happens in them and what
is judged. A fault is something that begins to be wrong in a world, for however long and however many requests, or that
happens once, such as the death of a control plane at a request. Targets: 2,000 seeds of the engine and 500 of each door
in an hour on two cores, and none that breaks a promise.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""
_PROGRESS_SECONDS = 15.0


class Progress:
    """Tells of every failure at once, and of the counts now and then."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._begin = self._last = time.monotonic()

    def __call__(self, done: Played) -> None:
        if done.told.found:
            print(_complaint(done), file=sys.stderr, flush=True)
        now = time.monotonic()
        if now - self._last >= _PROGRESS_SECONDS:
            self._last = now
            print(f"{now - self._begin:6.0f} s  {_sums(self._counts)}", flush=True)


def _complaint(done: Played) -> str:
    found = [f"  {sentence}" for sentence in done.told.found]
    return "\n".join([f"{done.suite}: seed {done.seed} broke promises:", *found, f"  again: {done.command}"])


def _sums(counts: Counts) -> str:
    each = ", ".join(f"{name} {count.seeds}" for name, count in counts.suites.items())
    return f"{counts.seeds} seeds ({each}), {counts.faults} faults, {len(counts.failures)} failures"


def summary(counts: Counts) -> str:
    """Return the counts of every suite, the kinds of faults, and how to see each failure again."""
    rows = [f"{'suite':14}{'seeds':>7}{'faults':>8}{'failures':>10}{'CPU s':>8}  what it is about"]
    for name, count in counts.suites.items():
        numbers = f"{count.seeds:7}{count.faults.total():8}{len(count.failures):10}{count.seconds:8.0f}"
        rows.append(f"{name:14}{numbers}  {SUITES[name].about}")
    for name, count in counts.suites.items():
        kinds = ", ".join(f"{kind} {number}" for kind, number in count.faults.most_common())
        rows.append(f"faults of {name}: {kinds or 'none'}")
    verdict = "every promise was kept" if not counts.failures else "seeds that broke a promise:"
    return "\n".join([*rows, verdict, *(f"  {command}" for command in counts.failures)])


def record(counts: Counts, command: str) -> None:
    """Add a line for each suite to bench/RESULTS.md."""
    start = [datetime.now(UTC).date().isoformat(), commit(), f"`{command}`", str(counts.begins)]
    append_results(
        [line([*start, name, *_cells(count)]) for name, count in counts.suites.items() if count.seeds], HEADING
    )


def _cells(count: Count) -> list[str]:
    return [str(count.seeds), str(count.faults.total()), str(len(count.failures)), f"{count.seconds:.0f}"]


def commit() -> str:
    """Return the short name of the commit that is checked out."""
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
