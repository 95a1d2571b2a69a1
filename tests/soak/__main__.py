"""Plays all suites of random worlds on fresh seeds: `python -m tests.soak --for 60m`, or `--seeds 500`.

Failing seeds are named with the command that plays them again. `--mutations` takes the guards away instead, one after
the other, and counts the seeds until each is missed.
"""

from __future__ import annotations

import argparse
import secrets
import shlex
import sys
from pathlib import Path

from hanse.simulator.faults.durations import parse_duration
from tests.soak import mutations
from tests.soak.counts import Count, Counts
from tests.soak.running import soak
from tests.soak.suites import SUITES, played
from tests.soak.telling import Progress, record, summary


def _suites(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in SUITES]:
        raise argparse.ArgumentTypeError(f"there is no {unknown[0]}; there are {', '.join(SUITES)}")
    return names


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--suites", type=_suites, default=list(SUITES), help="some of them, by commas (default: all)")
    parser.add_argument(
        "--for", dest="time", type=parse_duration, help="for how long, as 60m (default without --seeds)"
    )
    parser.add_argument("--seeds", type=int, help="how many of each suite at most, of the engine four times as many")
    parser.add_argument("--from", dest="begins", type=int, help="the first seed (default: a fresh one)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default: 2)")
    parser.add_argument("--keep", type=Path, help="a file in which counts are kept, and gone on with the next time")
    parser.add_argument("--record", action="store_true", help="add the counts to bench/RESULTS.md")
    parser.add_argument("--mutations", action="store_true", help="take guards away and see that they are missed")
    parser.add_argument("--guard", default="", help="only the guards whose names contain this, with --mutations")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Soak as asked; 1 if a promise was broken, or a missing guard not missed."""
    options = _options(arguments)
    command = shlex.join(["python", "-m", "tests.soak", *arguments])
    if options.mutations:
        return mutations.main(options, command)
    begins = secrets.randbelow(10**9) if options.begins is None else options.begins
    if options.seeds == 1 and len(options.suites) == 1:
        return _tell_one(options.suites[0], begins)
    counts = Counts.read(options.keep, begins, options.suites) if options.keep else _fresh(begins, options.suites)
    seconds = 3600.0 if options.time is None and options.seeds is None else options.time
    print(f"{', '.join(options.suites)} from seed {counts.begins} on, {options.jobs} at a time", flush=True)
    finished = soak(counts, options.jobs, seconds=seconds, seeds=options.seeds, tell=Progress(counts))
    print(summary(counts))
    if options.keep:
        counts.write(options.keep)
    if options.record:
        record(counts, command)
    return 1 if counts.failures else 0 if finished else 130


def _fresh(begins: int, suites: list[str]) -> Counts:
    return Counts(begins, {name: Count() for name in suites})


def _tell_one(suite: str, seed: int) -> int:
    done = played(SUITES[suite], seed)
    print("\n".join(done.told.story))
    for sentence in done.told.found:
        print(f"broke a promise: {sentence}")
    faults = ", ".join(f"{kind} {number}" for kind, number in done.faults.items())
    print(f"seed {seed} of {suite}: {len(done.told.found)} broken promises, {done.faults.total()} faults: {faults}")
    return 1 if done.told.found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
