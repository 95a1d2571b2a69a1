"""Which writes of a scenario a control plane is killed at."""

from __future__ import annotations


def sample(writes: int, points: int) -> list[tuple[int, bool]]:
    """Return points spread over all writes, in turn before and after one."""
    return [(1 + number * (writes - 1) // max(1, points - 1), number % 2 == 1) for number in range(points)]


def every(first: int, last: int) -> list[tuple[int, bool]]:
    """Return all points of a stretch, before and after each write."""
    return [(at, after) for at in range(first, last + 1) for after in (False, True)]
