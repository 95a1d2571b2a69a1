"""Ranges of sizes and costs: from the least that is possible to the most."""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST = 2**64 - 1
TRAVERSAL = 0.1
"""What a character costs that is looked at once."""
PATTERN = 0.25
"""What a character of a regular expression costs for each that it is held against."""


@dataclass(frozen=True, slots=True)
class Range:
    """A size or a cost that is known within bounds; it never grows beyond what upstream can count."""

    least: int
    most: int

    def __add__(self, other: Range) -> Range:
        return Range(min(self.least + other.least, MOST), min(self.most + other.most, MOST))

    def __mul__(self, other: Range) -> Range:
        return Range(min(self.least * other.least, MOST), min(self.most * other.most, MOST))

    def __or__(self, other: Range) -> Range:
        """Return the range that holds both."""
        return Range(min(self.least, other.least), max(self.most, other.most))

    def scaled(self, factor: float) -> Range:
        """Return the range multiplied, rounded up."""
        return Range(_scaled(self.least, factor), _scaled(self.most, factor))


def _scaled(amount: int, factor: float) -> int:
    return min(math.ceil(float(amount) * factor), MOST)


def exactly(amount: int) -> Range:
    """Return the range of one value."""
    return Range(amount, amount)


NOTHING = exactly(0)
ONE = exactly(1)
ANY = Range(0, MOST)
