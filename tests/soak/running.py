"""Plays seeds of several suites in worker processes, all suites fairly in turn, until time or seeds are up."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context

from tests.soak.counts import Counts
from tests.soak.suites import SUITES, Played, played

# A worker is replaced after so many seeds, whatever it has gathered by then.
_SEEDS_A_WORKER = 200


def next_seed(begun: dict[str, int], most: int | None) -> str | None:
    """Return the suite that is furthest behind its share; None once each has the share of seeds that was asked for."""
    open_ones = [name for name in begun if most is None or begun[name] < most * SUITES[name].share]
    return min(open_ones, key=lambda name: begun[name] / SUITES[name].share, default=None)


def soak(
    counts: Counts, jobs: int, *, seconds: float | None, seeds: int | None, tell: Callable[[Played], None]
) -> bool:
    """Play until time or seeds are up; False if a person ended it before. Whatever was finished by then is counted."""
    end = None if seconds is None else time.monotonic() + seconds
    begun = {name: count.seeds for name, count in counts.suites.items()}

    def due() -> Iterator[tuple[str, int]]:
        while (name := next_seed(begun, seeds)) is not None and (end is None or time.monotonic() < end):
            begun[name] += 1
            yield name, counts.begins + begun[name] - 1

    pool = ProcessPoolExecutor(
        jobs, get_context("forkserver"), initializer=_leave_interrupts, max_tasks_per_child=_SEEDS_A_WORKER
    )
    finished = False
    try:
        for done in _results(pool, due(), jobs):
            counts.suites[done.suite].add(done)
            tell(done)
        finished = True
    except KeyboardInterrupt:
        for process in list((pool._processes or {}).values()):
            process.terminate()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return finished


def _results(pool: ProcessPoolExecutor, due: Iterator[tuple[str, int]], jobs: int) -> Iterator[Played]:
    """Yield what was played, with one seed for each worker under way."""
    running: set[Future[Played]] = set()
    while True:
        while len(running) < jobs and (next_one := next(due, None)) is not None:
            running.add(pool.submit(_play, *next_one))
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


def _play(suite: str, seed: int) -> Played:
    return played(SUITES[suite], seed)


def _leave_interrupts() -> None:
    """Leave Ctrl-C to the process that has the summary to print."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
