"""Kills the control plane at writes of the scenario, on real clusters: `python -m tests.crash_points --all`.

By default at six of them, spread over all; `--from` and `--to` choose a stretch, so that all can be done in parts.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from bench.results import append_results, line
from tests.crash_points.points import every, sample
from tests.crash_points.stage import Point, Stage, crash_stage
from tests.soak.telling import commit

_LOG_TAIL = 4000
_COLUMNS = ("date", "commit", "command", "writes of the scenario", "points", "same end", "another end", "s a point")
HEADING = f"""# Crash points: the control plane killed at a write, on real Kubernetes

Upstream API servers, a host and two members, of which one sends pods to the other. The scenario creates, changes and
deletes by every front door; its control plane is killed with SIGKILL right before or right after one write to any
API server, started again, and what is in all clusters in the end is compared with an undisturbed run: every field of
every object but uids, versions, times, addresses and random suffixes.

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


async def play(options: argparse.Namespace) -> tuple[int, list[Point]]:
    """Play the points; returns how many writes there are, and what came of each."""
    with tempfile.TemporaryDirectory(prefix="hanse-crash-points-") as folder:
        try:
            async with crash_stage(Path(folder)) as stage:
                return await _play(stage, options)
        except Exception:
            log = Path(folder) / "controller.log"
            print(log.read_text()[-_LOG_TAIL:] if log.exists() else "there was no control plane yet", file=sys.stderr)
            raise


async def _play(stage: Stage, options: argparse.Namespace) -> tuple[int, list[Point]]:
    writes = await stage.measure("undisturbed")
    print(f"the scenario takes {writes} writes", flush=True)
    again = await stage.live_through("undisturbed-again", 0, after=False)
    if again.found:
        raise RuntimeError("two undisturbed runs differ: " + "\n".join(again.found))
    played: list[Point] = []
    for at, after in _points(options, writes):
        played.append(await stage.live_through(f"point-{at}-{'after' if after else 'before'}", at, after=after))
        print(played[-1], flush=True)
    return writes, played


def _points(options: argparse.Namespace, writes: int) -> list[tuple[int, bool]]:
    if not (options.all or options.begin or options.end):
        return sample(writes, options.points)
    return every(options.begin or 1, min(options.end or writes, writes))


def main() -> int:
    """Play what is asked for; 1 if an end was another one."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash_points", description=__doc__)
    parser.add_argument("--all", action="store_true", help="at every write, before and after it")
    parser.add_argument("--points", type=int, default=6, help="at how many, without --all (default: 6)")
    parser.add_argument("--from", dest="begin", type=int, default=0, help="the first write")
    parser.add_argument("--to", dest="end", type=int, default=0, help="the last write")
    parser.add_argument("--record", action="store_true", help="add the counts to bench/RESULTS.md")
    options = parser.parse_args()
    writes, played = asyncio.run(play(options))
    wrong = [point for point in played if point.found]
    print(f"{len(played) - len(wrong)} of {len(played)} ends are the same; {sum(each.died for each in played)} deaths")
    if options.record:
        append_results([_row(writes, played, len(wrong))], HEADING)
    return 1 if wrong else 0


def _row(writes: int, played: list[Point], wrong: int) -> str:
    command = f"`{' '.join(['python -m tests.crash_points', *sys.argv[1:]])}`"
    mean = sum(each.seconds for each in played) / max(1, len(played))
    today = datetime.now(UTC).date().isoformat()
    return line(
        [today, commit(), command, str(writes), str(len(played)), str(len(played) - wrong), str(wrong), f"{mean:.1f}"]
    )


if __name__ == "__main__":
    sys.exit(main())
