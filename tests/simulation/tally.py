"""How many faults a random world had: whoever does something to it notes that, and whoever plays it may count.

A fault is something that begins to be wrong, for however long and however many requests, or that happens once, such as
the death of a process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_COUNTED: ContextVar[Counter[str] | None] = ContextVar("counted", default=None)


@contextmanager
def counting_faults() -> Iterator[Counter[str]]:
    """Count what is noted within a block, by kind."""
    counted: Counter[str] = Counter()
    token = _COUNTED.set(counted)
    try:
        yield counted
    finally:
        _COUNTED.reset(token)


def note_fault(kind: str) -> None:
    """Note that something is wrong from now on, or has just gone wrong."""
    counted = _COUNTED.get()
    if counted is not None:
        counted[kind] += 1
