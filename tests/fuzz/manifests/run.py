"""The run: each case is a file, a stored object or a text, and ends in a value or in a refusal of its reader's own."""

from __future__ import annotations

import asyncio
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from hanse.cli.running import log_to
from tests.fuzz.manifests import papers
from tests.fuzz.manifests.corpus import manifest_of
from tests.fuzz.manifests.kinds import readers_of
from tests.fuzz.manifests.stored import ServerFault, Store
from tests.fuzz.manifests.texts import READERS
from tests.fuzz.watched import grown

SECONDS = 3.0
GROWTH_MEGABYTES = 128.0
_LOOK_EVERY = 5000


@dataclass(slots=True)
class Tally:
    """What a run has seen."""

    cases: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    memory: list[float] = field(default_factory=list)
    peak: float = 0.0
    faults: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


class _TooSlow(BaseException):
    """A reader takes longer than any user waits."""


def run(seed: int, count: int, *, most_faults: int = 40) -> Tally:
    """Play the cases of `count` seeds from `seed` on."""
    log_to()
    return asyncio.run(_run(seed, count, most_faults))


async def _run(seed: int, count: int, most_faults: int) -> Tally:
    tally = Tally()
    store = await Store.open()
    with tempfile.TemporaryDirectory(prefix="hanse-fuzz-") as name:
        for number in range(seed, seed + count):
            await _play(store, Path(name), number, tally)
            tally.cases += 1
            if tally.cases % _LOOK_EVERY == 0:
                _look(tally)
            if len(tally.faults) >= most_faults:
                break
    await store.close()
    _look(tally)
    if (growth := grown(tally.memory)) > GROWTH_MEGABYTES:
        again = f"python -m tests.fuzz manifests --seed {seed} --count {count}"
        tally.faults.append(f"the readers grew by {growth:.0f} MB: {again}")
    return tally


async def _play(store: Store, folder: Path, number: int, tally: Tally) -> None:
    chance = random.Random(number)
    luck = chance.random()
    if luck < 0.25:
        data = papers.written(chance)
        _try(tally, number, "plan", lambda: papers.planned(folder, data), papers.REFUSALS, data)
        _try(tally, number, "file", lambda: papers.listed(folder, data), papers.REFUSALS, data)
        return
    if luck < 0.5:
        reader = chance.choice(READERS)
        given = reader.made(chance)
        _try(tally, number, reader.name, lambda: reader.read(given), reader.refusals, given)
        return
    await _store(store, chance, number, tally)


async def _store(store: Store, chance: random.Random, number: int, tally: Tally) -> None:
    obj = manifest_of(chance)
    started = time.monotonic()
    try:
        stored = await store.stored(obj)
    except ServerFault as fault:
        tally.seen.discard(_fault(tally, number, "server", str(fault), fault, obj))
        return
    tally.slowest = max(tally.slowest, time.monotonic() - started)
    if stored is not None and not stored["metadata"].get("name"):
        # A question that is answered and kept by nobody, such as a SubjectAccessReview.
        return
    if stored is None:
        tally.outcomes["refused by its schema"] += 1
        return
    for name, read, refusals in readers_of(stored):
        _try(tally, number, name, partial(read, stored), refusals, stored)


def _try(
    tally: Tally, number: int, name: str, read: Callable[[], Any], refusals: tuple[type[Exception], ...], given: Any
) -> None:
    started = time.monotonic()
    tally.read[name] += 1
    try:
        with _limited():
            read()
        tally.outcomes["read"] += 1
    except refusals as refusal:
        tally.outcomes["refused in its own words"] += 1
        if not str(refusal).strip():
            _fault(tally, number, name, "an empty sentence", refusal, given)
    except _TooSlow as slow:
        _fault(tally, number, name, f"longer than {SECONDS:g} s", slow, given)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a fault
        _fault(tally, number, name, repr(error)[:200], error, given)
    tally.slowest = max(tally.slowest, time.monotonic() - started)


def _fault(tally: Tally, number: int, name: str, told: str, error: BaseException, given: Any) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    at = next((frame for frame in reversed(frames) if "/hanse/" in frame.filename), frames[-1])
    where = f"{at.filename.partition('/src/')[2]}:{at.lineno} {at.name}"
    tally.outcomes["fault"] += 1
    if (key := f"{type(error).__name__} {where}") in tally.seen:
        return key
    tally.seen.add(key)
    tally.faults.append(
        f"python -m tests.fuzz manifests --seed {number}\n  {name}: {told}\n  at {where}\n  {repr(given)[:700]}"
    )
    return key


@contextmanager
def _limited() -> Iterator[None]:
    def stop(_signal: int, _frame: Any) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _look(tally: Tally) -> None:
    tally.memory.append(psutil.Process().memory_info().rss / 1e6)
    tally.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    sys.stderr.write(
        f"{tally.cases} cases, {dict(tally.outcomes)}, slowest {tally.slowest:.2f} s, {tally.memory[-1]:.0f} MB, "
        f"faults: {len(tally.faults)}\n"
    )
