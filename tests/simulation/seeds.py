"""Plays random worlds from the command line: `python -m tests.simulation.seeds --seed 17` tells what happened in one.

`make soak` plays five hundred. A seed that breaks a promise is named with the command that plays it again.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import structlog

from tests.simulation.random_history import STEPS, Outcome, play


def again(seed: int) -> str:
    """Return the command that plays a seed again."""
    return f"python -m tests.simulation.seeds --seed {seed}"


def complaint(outcome: Outcome) -> str:
    """Say what a seed broke, what had happened until then, and how to see it again."""
    story = "\n".join(outcome.story)
    found = "\n".join(f"  {sentence}" for sentence in outcome.found)
    return f"seed {outcome.seed} broke promises:\n{found}\nafter\n{story}\nagain: {again(outcome.seed)}"


@contextmanager
def quietly() -> Iterator[None]:
    """Do without the control plane's own log: of clusters that are broken on purpose it has much to say."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


def play_quietly(seed: int, steps: int = STEPS, themes: Sequence[str] | None = None) -> Outcome:
    """Play a seed without the control plane's own log."""
    with quietly():
        return play(seed, steps, themes)


def _judge(seed: int) -> Outcome:
    """Play a seed in a process of its own, out of which not every exception finds its way."""
    try:
        return play_quietly(seed)
    except Exception:  # noqa: BLE001 - whatever it is, it is told with its seed
        return Outcome(seed, (f"the world itself broke: {traceback.format_exc()}",), (), "")


def _outcomes(seeds: range, jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from map(play_quietly, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_judge, seeds)


def main() -> int:
    """Play the seeds and fail if one of them broke a promise."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.seeds", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from the first on (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default: 1)")
    args = parser.parse_args()
    begin, failed = time.monotonic(), []
    for outcome in _outcomes(range(args.seed, args.seed + args.seeds), args.jobs):
        if outcome.found:
            failed.append(outcome.seed)
            print(complaint(outcome), file=sys.stderr)
        elif args.seeds == 1:
            print("\n".join(outcome.story))
            print(f"seed {outcome.seed} kept every promise; digest {outcome.digest}")
    if args.seeds > 1:
        lasted = time.monotonic() - begin
        print(f"{args.seeds - len(failed)} of {args.seeds} seeds kept every promise; {lasted:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
