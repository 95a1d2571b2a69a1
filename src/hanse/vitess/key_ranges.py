"""Shards by their key ranges: how a keyspace is divided, and in which order its shards stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_PARTS = 65536
# Keys have eight bytes.
MOST_DIGITS = 16
_BOUND = re.compile(r"(?:[0-9a-f]{2})*")
_NO_BOUND = "x"


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys from `start` up to, and without, `end`; "" is no bound. `80` and `8000` are different bounds."""

    start: str = ""
    end: str = ""

    def __str__(self) -> str:
        return f"{self.start}-{self.end}"

    @property
    def safe_name(self) -> str:
        """The range as part of the names of objects: `x-80`, `80-x`, `x-x`."""
        return f"{self.start or _NO_BOUND}-{self.end or _NO_BOUND}"

    @property
    def sort_key(self) -> tuple[str, bool, str]:
        """What shards are sorted by: the start, then the end; one that never ends comes last."""
        return self.start, not self.end, self.end


def parse_shard_name(name: str) -> KeyRange | None:
    """Read a key range out of a shard's name; None where the name is none, as that of a custom shard."""
    start, dash, end = name.partition("-")
    if not dash or not (_BOUND.fullmatch(start) and _BOUND.fullmatch(end)):
        return None
    return KeyRange(start, end)


def range_problem(key_range: KeyRange) -> str:
    """Tell in a sentence what is wrong with a key range; "" where nothing is."""
    for side, bound in (("start", key_range.start), ("end", key_range.end)):
        if not _BOUND.fullmatch(bound):
            return f"{side} must be an even number of lower-case hex digits, such as 80 or 8000, and is {bound!r}"
    if key_range.end and key_range.start >= key_range.end:
        return f"start {key_range.start!r} must be below end {key_range.end!r}"
    return ""


def parts_problem(parts: int, hex_width: int = 0) -> str:
    """Tell in a sentence why a keyspace cannot be divided so; "" where it can."""
    if not 1 <= parts <= MOST_PARTS:
        return f"parts must be from 1 to {MOST_PARTS}, and is {parts}"
    if hex_width > MOST_DIGITS:
        return f"hexWidth must be at most {MOST_DIGITS} digits, and is {hex_width}"
    if hex_width < 0 or hex_width % 2:
        return f"hexWidth must be an even number of digits (0 chooses it), and is {hex_width}"
    if hex_width and parts > 16**hex_width:
        return f"hexWidth {hex_width} has room for {16**hex_width} parts, and parts is {parts}; give a larger hexWidth"
    return ""


def equal_ranges(parts: int, hex_width: int = 0) -> tuple[KeyRange, ...]:
    """Divide all keys into equal parts; `hex_width` is the number of digits of a bound, 0 chooses it."""
    if problem := parts_problem(parts, hex_width):
        raise ValueError(problem)
    width = hex_width or (2 if parts <= 256 else 4)
    bounds = ["", *(f"{part * 16**width // parts:0{width}x}" for part in range(1, parts)), ""]
    return tuple(KeyRange(start, end) for start, end in pairwise(bounds))


def sorted_ranges(ranges: Iterable[KeyRange]) -> tuple[KeyRange, ...]:
    """Return the ranges in the order in which shards are listed."""
    return tuple(sorted(ranges, key=lambda each: each.sort_key))


def coverage_problem(ranges: Sequence[KeyRange]) -> str:
    """Tell in a sentence why these ranges are not every key exactly once; "" where they are."""
    if not ranges:
        return "give at least one shard"
    for each in ranges:
        if problem := range_problem(each):
            return f"keyRange {each}: {problem}"
    ordered = sorted_ranges(ranges)
    if ordered[0].start:
        return f"no shard has the keys below {ordered[0].start}; let the first start at ''"
    for before, after in pairwise(ordered):
        if problem := _seam_problem(before, after):
            return problem
    return f"no shard has the keys from {ordered[-1].end}; let the last end at ''" if ordered[-1].end else ""


def _seam_problem(before: KeyRange, after: KeyRange) -> str:
    # Bounds of different lengths mean the same key where only zeros are missing.
    end, start = before.end.rstrip("0"), after.start.rstrip("0")
    if not before.end or end > start:
        return f"the shards {before} and {after} overlap; let {after} start where {before} ends"
    if end < start:
        return f"no shard has the keys from {before.end} to {after.start}; let {after} start where {before} ends"
    if before.end != after.start:
        return f"{before} ends at {before.end} and {after} starts at {after.start}; write both bounds alike"
    return ""
