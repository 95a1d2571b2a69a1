"""What the workloads that name one object have told, added up.

Many may name the same object. Where it has to go depends on them only by where any of them is; while that stays as it
is, one more or one less is no reason to work everything out again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from hanse.propagation.company import Stand

T = TypeVar("T")


class Picture(NamedTuple):
    """All that decides where an object goes that follows others.

    `users` tells whether any ask that it follows, and whether any do not; `there` where they are, by the same; of some
    it may be `unknown` whether they are in a cluster, and some may be `undecided` altogether.
    """

    users: frozenset[bool] = frozenset()
    there: frozenset[tuple[bool, str]] = frozenset()
    unknown: frozenset[str] = frozenset()
    undecided: bool = False


NOBODY = Picture()


@dataclass(slots=True)
class Gathering:
    """Counts the workloads that name an object, and where they stand."""

    _users: Counter[bool] = field(default_factory=Counter)
    _there: Counter[tuple[bool, str]] = field(default_factory=Counter)
    _unknown: Counter[str] = field(default_factory=Counter)
    _undecided: int = 0

    def count(self, stand: Stand | None, by: int, *, asks: bool) -> None:
        """Add a workload that stands there (1), or take it out again (-1)."""
        self._users[asks] += by
        if stand is None:
            self._undecided += by
            return
        for name in stand.there:
            self._there[asks, name] += by
        for name in stand.unknown:
            self._unknown[name] += by

    def picture(self) -> Picture:
        """Return what decides where the object goes."""
        return Picture(_some(self._users), _some(self._there), _some(self._unknown), undecided=self._undecided > 0)


def _some(counted: Counter[T]) -> frozenset[T]:
    return frozenset(each for each, count in counted.items() if count > 0)
