"""Waiting for another process to come round, with a deadline: the one place where tests poll."""

from __future__ import annotations

import time
from collections.abc import Callable

_INTERVAL_SECONDS = 0.05


def wait_until(condition: Callable[[], bool], *, seconds: float, what: str) -> None:
    """Return as soon as the condition holds; raises TimeoutError that says what did not happen."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(_INTERVAL_SECONDS)
