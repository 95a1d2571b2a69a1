"""Compares the processor time of the control plane at several commits, in turns in one run, and adds it to RESULTS.md.

    python -m bench.before_after --clusters 20 --objects 200 COMMIT COMMIT …

Each commit's `src` is checked out aside and measured by `bench.scale` of this checkout; the first is what the others
are compared with. What is told of each is the median of the rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.results import append_results, line
from bench.scale_records import command_line

_TITLE = "# Changes that a profile suggested, before and after"
_COLUMNS = ("date", "commit", "what", "clusters × objects", "cold start, CPU s", "restart, CPU s", "to the first")
_HEADING = f"""{_TITLE}

Processor time of the control plane alone, as `bench.scale` measures it: embedded API servers in the same process, their
own time taken off. All commits of one command take turns, medians of the rounds; ratios are to its first commit, cold
start / restart. docs/performance.md says what was changed and why.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


def measure(source: Path, clusters: int, objects: int) -> tuple[float, float]:
    """Return the control plane's processor seconds of a cold start and of a restart with one checkout's code."""
    size = [f"--clusters={clusters}", f"--objects={objects}", "--rest=1", "--dry-run"]
    command = [sys.executable, "-m", "bench.scale", *size]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    cold, restart = (float(row.split("|")[7].partition("/")[0]) for row in told[-2:])
    return cold, restart


def main() -> int:
    """Measure and record."""
    parser = argparse.ArgumentParser(prog="python -m bench.before_after", description=__doc__)
    parser.add_argument("commits", nargs="+", help="what is compared, the first with the others")
    parser.add_argument("--clusters", type=int, default=20, help="members (default: %(default)s)")
    parser.add_argument("--objects", type=int, default=200, help="objects on the host (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="how often each takes its turn (default: %(default)s)")
    args = parser.parse_args()
    taken: dict[str, list[tuple[float, float]]] = {commit: [] for commit in args.commits}
    with tempfile.TemporaryDirectory(prefix="hanse-commits-") as folder:
        for commit in args.commits:
            _check_out(commit, Path(folder) / commit)
        for _ in range(args.rounds):
            for commit in args.commits:
                taken[commit].append(measure(Path(folder) / commit / "src", args.clusters, args.objects))
    lines = _lines({commit: _median(each) for commit, each in taken.items()}, args.clusters, args.objects)
    append_results(lines, _HEADING)
    print("\n".join([command_line(), *lines]))
    return 0


def _check_out(commit: str, folder: Path) -> None:
    folder.mkdir()
    archive = subprocess.run(["git", "archive", commit, "src"], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)


def _median(taken: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(cold for cold, _ in taken), statistics.median(restart for _, restart in taken)


def _lines(taken: dict[str, tuple[float, float]], clusters: int, objects: int) -> list[str]:
    first = next(iter(taken.values()))
    return [
        line(
            [
                time.strftime("%Y-%m-%d"),
                commit,
                _subject(commit),
                f"{clusters} × {objects:,}",
                f"{cold:.1f}",
                f"{restart:.1f}",
                f"{cold / first[0]:.2f}× / {restart / first[1]:.2f}×",
            ]
        )
        for commit, (cold, restart) in taken.items()
    ]


def _subject(commit: str) -> str:
    command = ["git", "log", "-1", "--format=%s", commit]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
