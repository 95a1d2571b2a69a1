"""Positions in MySQL's replication: sets of transactions, each named by the server that wrote it first and a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_FLAVOR = "MySQL56/"

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Position:
    """A set of transactions: for each server, intervals in order, both ends included."""

    intervals: Mapping[str, tuple[Interval, ...]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Position:
        """Read `MySQL56/uuid:1-5:7,uuid:1-3`, with or without the flavor; raises ValueError for anything else."""
        body = text.removeprefix(_FLAVOR)
        if "/" in body:
            raise ValueError(f"position {text!r} is of a flavor that cannot be compared; only {_FLAVOR}… can")
        found: dict[str, tuple[Interval, ...]] = {}
        for part in filter(None, (each.strip() for each in body.split(","))):
            server, *ranges = part.split(":")
            if not ranges:
                raise ValueError(f"position {text!r} names server {server!r} without any transaction")
            known = found.get(server.lower(), ())
            found[server.lower()] = _merged((*known, *(_interval(each, text) for each in ranges)))
        return cls(found)

    def __str__(self) -> str:
        servers = sorted(self.intervals.items())
        return _FLAVOR + ",".join(":".join((server, *map(_written, ranges))) for server, ranges in servers)

    @property
    def count(self) -> int:
        """How many transactions are in it."""
        return sum(end - start + 1 for ranges in self.intervals.values() for start, end in ranges)

    def at_least(self, other: Position) -> bool:
        """Whether every transaction of another position is in this one."""
        return all(
            any(start >= mine[0] and end <= mine[1] for mine in self.intervals.get(server, ()))
            for server, ranges in other.intervals.items()
            for start, end in ranges
        )

    def union(self, other: Position) -> Position:
        """Return the transactions that are in either."""
        servers = {*self.intervals, *other.intervals}
        return Position(
            {each: _merged((*self.intervals.get(each, ()), *other.intervals.get(each, ()))) for each in servers}
        )

    def after_write(self, server: str) -> Position:
        """Return the position after one more transaction of a server."""
        last = self.intervals.get(server, ((1, 0),))[-1][1]
        return self.union(Position({server: ((last + 1, last + 1),)}))


def _interval(text: str, whole: str) -> Interval:
    start, dash, end = text.partition("-")
    if not start.isdecimal() or (dash and not end.isdecimal()):
        raise ValueError(f"position {whole!r} has {text!r} where numbers of transactions are expected")
    return int(start), int(end) if dash else int(start)


def _merged(intervals: tuple[Interval, ...]) -> tuple[Interval, ...]:
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if end < start:
            continue
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


def _written(interval: Interval) -> str:
    start, end = interval
    return str(start) if start == end else f"{start}-{end}"
