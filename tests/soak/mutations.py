"""Takes every guard away in turn and counts the seeds of random worlds until one of them misses it."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context

import pytest

from bench.results import append_results, line
from tests.simulation.playing import quietly
from tests.soak.guards import GUARDS, Guard
from tests.soak.telling import commit

MOST_SEEDS = 200
_COLUMNS = ("date", "commit", "promise of design.md §4", "suite", "without this guard", "caught as", "seeds until then")
HEADING = f"""# Guards: how many random worlds it takes to miss one

`python -m tests.soak --mutations`: each guard is taken out of the product from outside, and seeds are played from 0 on
until a judge says so (target: within {MOST_SEEDS}).

| {" | ".join(_COLUMNS)} |
|{"---|" * len(_COLUMNS)}
"""


@dataclass(frozen=True, slots=True)
class Caught:
    """What came of a missing guard: how many seeds were played, and what was said, "" if nobody missed it."""

    guard: int
    seeds: int
    said: str
    seconds: float


def catch(number: int, most: int) -> Caught:
    """Play worlds without a guard until one of them misses it."""
    guard, begin, played = GUARDS[number], time.monotonic(), 0
    with pytest.MonkeyPatch.context() as patch, quietly():
        guard.remove(patch)
        for played, seed in enumerate(guard.seeds(most), start=1):
            said = next((each for each in guard.found(seed) if guard.is_caught_by(each)), "")
            if said:
                return Caught(number, played, said, time.monotonic() - begin)
    return Caught(number, played, "", time.monotonic() - begin)


def main(options: argparse.Namespace, _command: str) -> int:
    """Try the guards that are asked for; 1 if one of them is not missed."""
    chosen = [
        number for number, guard in enumerate(GUARDS) if guard.suite in options.suites and options.guard in guard.name
    ]
    if not chosen:
        print(f'no guard is called "{options.guard}"', file=sys.stderr)
        return 2
    caught = []
    with ProcessPoolExecutor(options.jobs, get_context("forkserver"), max_tasks_per_child=1) as pool:
        for future in as_completed(
            pool.submit(partial(catch, number, options.seeds or MOST_SEEDS)) for number in chosen
        ):
            caught.append(future.result())
            print(_sentence(caught[-1]), flush=True)
    caught.sort(key=lambda each: (GUARDS[each.guard].promise, each.guard))
    missed = sum(bool(each.said) for each in caught)
    print(f"{missed} of {len(caught)} guards are missed within {options.seeds or MOST_SEEDS} seeds")
    if options.record:
        append_results([_row(GUARDS[each.guard], each) for each in caught], HEADING)
    if missed < len(caught):
        print("a world has become too tame for the others, or they guard nothing", file=sys.stderr)
    return 0 if missed == len(caught) else 1


def _sentence(caught: Caught) -> str:
    guard = GUARDS[caught.guard]
    end = f"caught after {caught.seeds}: {caught.said}" if caught.said else f"NOT caught in {caught.seeds} seeds"
    return f"{guard.suite}: {guard.name} ({caught.seconds:.0f} s): {end}"[:240]


def _row(guard: Guard, caught: Caught) -> str:
    today = datetime.now(UTC).date().isoformat()
    said = guard.word or "any promise"
    seeds = str(caught.seeds) if caught.said else f"not within {caught.seeds}"
    return line([today, commit(), guard.promise, guard.suite, guard.name, said, seeds])
