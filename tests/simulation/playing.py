"""Playing many seeds of a random world from the command line, whichever world it is."""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import structlog


class Outcome(Protocol):
    """What came of a seed: the promises that it broke, and what happened."""

    @property
    def seed(self) -> int: ...

    @property
    def found(self) -> Sequence[str]: ...

    @property
    def story(self) -> Sequence[str]: ...

    @property
    def digest(self) -> object: ...


@dataclass(frozen=True, slots=True)
class _Broken:
    """A seed in which the world itself broke."""

    seed: int
    found: tuple[str, ...]
    story: tuple[str, ...] = ()
    digest: str = ""


@contextmanager
def quietly() -> Iterator[None]:
    """Do without the control plane's own log: of clusters that are broken on purpose it has much to say."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


def complaint_of(module: str, outcome: Outcome) -> str:
    """Say what a seed broke, what had happened until then, and how to see it again."""
    found = [f"  {sentence}" for sentence in outcome.found]
    again = f"again: python -m {module} --seed {outcome.seed}"
    return "\n".join([f"seed {outcome.seed} broke promises:", *found, "after", *outcome.story, again])


def play_seeds(module: str, about: str | None, play: Callable[[int], Outcome]) -> int:
    """Play the seeds that the command line asks for and fail if one of them broke a promise."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--seeds", type=int, default=1, help="how many, from the first on (default: 1)")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time (default: 1)")
    args = parser.parse_args()
    begin, failed = time.monotonic(), []
    for outcome in _outcomes(play, range(args.seed, args.seed + args.seeds), args.jobs):
        if outcome.found:
            failed.append(outcome.seed)
            print(complaint_of(module, outcome), file=sys.stderr)
        elif args.seeds == 1:
            print("\n".join(outcome.story))
            print(f"seed {outcome.seed} kept every promise; digest {outcome.digest}")
    if args.seeds > 1:
        lasted = time.monotonic() - begin
        print(f"{args.seeds - len(failed)} of {args.seeds} seeds kept every promise; {lasted:.0f} s")
    return 1 if failed else 0


def _outcomes(play: Callable[[int], Outcome], seeds: range, jobs: int) -> Iterator[Outcome]:
    judge = partial(_judged, play)
    if jobs == 1:
        yield from map(judge, seeds)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(judge, seeds)


def _judged(play: Callable[[int], Outcome], seed: int) -> Outcome:
    """Play a seed in a process of its own, out of which not every exception finds its way."""
    try:
        return play(seed)
    except Exception:  # noqa: BLE001 - whatever it is, it is told with its seed
        return _Broken(seed, (f"the world itself broke: {traceback.format_exc()}",))
