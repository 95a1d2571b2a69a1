"""Versions of charts and ranges of them, read as Masterminds' semver 1.4 reads them. Pure.

A range is alternatives between `||`; each is demands between `,` that must all hold: `=`, `!=`, `>`, `<`, `>=`, `<=`,
`~`, `^` or nothing before a version whose parts may be `x`, `X` or `*`; `1.2 - 1.4` stands for `>= 1.2, <= 1.4`.
Nothing at all is any version. What that library does in odd corners is done here too: an Application must not choose
another version because it moved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_PARTS = r"(-(?P<pre>[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?(?:\+[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*)?"
_VERSION = re.compile(r"v?(?P<major>[0-9]+)(?:\.(?P<minor>[0-9]+))?(?:\.(?P<patch>[0-9]+))?" + _PARTS)
_LOOSE = r"v?(?P<major>[0-9]+|[xX*])(?:\.(?P<minor>[0-9]+|[xX*]))?(?:\.(?P<patch>[0-9]+|[xX*]))?" + _PARTS
_DEMAND = re.compile(r"\s*(?P<operator>=>|=<|!=|>=|<=|~>|=|>|<|~|\^|)\s*" + _LOOSE + r"\s*")
_BOUND = re.sub(r"\?P<[a-z]+>", "?:", _LOOSE)
_HYPHEN = re.compile(rf"\s*({_BOUND})\s+-\s+({_BOUND})\s*")
_EXACT = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+" + _PARTS)
_ANY = frozenset("xX*")
_LARGEST = 2**63 - 1
# No part of a version is so long; Python itself refuses to read numbers of thousands of digits.
_LONGEST = 256


class RangeProblem(ValueError):
    """Why a text is no range of versions."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version as it is compared: what is behind a `+` does not count."""

    numbers: tuple[int, int, int]
    pre: tuple[str, ...] = ()

    @property
    def rank(self) -> tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]:
        """What versions are sorted by: a pre-release is before its release, numbers are before words."""
        parts = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in self.pre)
        return self.numbers, not self.pre, tuple((word, number, part if word else "") for word, number, part in parts)

    @property
    def is_zero(self) -> bool:
        """Whether this is 0.0.0 itself."""
        return self.numbers == (0, 0, 0) and not self.pre


@dataclass(frozen=True, slots=True)
class _Demand:
    """One comparison; `open_all` where its first part is an x, `open_minor` or `open_patch` where a later one is."""

    holds: Callable[[Version, _Demand], bool]
    bound: Version
    open_all: bool
    open_minor: bool
    open_patch: bool

    @property
    def is_open(self) -> bool:
        return self.open_all or self.open_minor or self.open_patch


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A set of versions, as it is written in `chart.version`."""

    alternatives: tuple[tuple[_Demand, ...], ...]

    def admits(self, version: Version) -> bool:
        """Tell whether the version belongs to the range."""
        return any(all(demand.holds(version, demand) for demand in demands) for demands in self.alternatives)


def parse_version(text: str) -> Version | None:
    """Read a version; None for what is not one. A missing minor or patch number is 0."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    return _version(match["major"], match["minor"], match["patch"], match["pre"])


def parse_range(text: str) -> VersionRange:
    """Read a range; raises RangeProblem."""
    spelt = _HYPHEN.sub(r">= \1, <= \3", text) if text else "*"
    return VersionRange(
        tuple(tuple(_demand(each) for each in alternative.split(",")) for alternative in spelt.split("||"))
    )


def is_exact(text: str) -> bool:
    """Tell whether a range is written as one whole version."""
    return _EXACT.fullmatch(text) is not None


def highest(versions: Iterable[str], wanted: VersionRange) -> str | None:
    """Return the highest version of a range, as it is written; what is no version is passed over."""
    read = [(version, text) for text in versions if (version := parse_version(text)) is not None]
    chosen = [(version, text) for version, text in read if wanted.admits(version)]
    return max(chosen, key=lambda each: each[0].rank)[1] if chosen else None


def _version(major: str, minor: str | None, patch: str | None, pre: str | None) -> Version | None:
    parts = tuple(pre.split(".")) if pre else ()
    if any(len(each or "") > _LONGEST for each in (major, minor, patch, *parts)):
        return None
    numbers = (int(major), int(minor or 0), int(patch or 0))
    return None if max(numbers) > _LARGEST else Version(numbers, parts)


def _demand(text: str) -> _Demand:
    match = _DEMAND.fullmatch(text)
    if match is None:
        raise RangeProblem(f"improper constraint: {text.strip() or '(nothing)'}")
    major, minor, patch, pre = match["major"], match["minor"], match["patch"], match["pre"]
    open_all = major in _ANY
    open_minor = not open_all and (minor is None or minor in _ANY)
    open_patch = not open_all and not open_minor and patch is not None and patch in _ANY
    if open_all:
        bound: Version | None = Version((0, 0, 0))
    else:
        bound = _version(major, None if open_minor else minor, None if open_minor or open_patch else patch, pre)
    if bound is None:
        raise RangeProblem(f"improper constraint: {text.strip()}")
    return _Demand(_OPERATORS[match["operator"]], bound, open_all, open_minor, open_patch)


def _unasked(version: Version, demand: _Demand) -> bool:
    """Tell whether it is a pre-release and the demand names none."""
    return bool(version.pre) and not demand.bound.pre


def _equal(version: Version, demand: _Demand) -> bool:
    if demand.is_open:
        return _tilde(version, demand)
    return not _unasked(version, demand) and version.rank == demand.bound.rank


def _unequal(version: Version, demand: _Demand) -> bool:
    if not demand.is_open:
        return version.rank != demand.bound.rank
    if _unasked(version, demand):
        return False
    if version.numbers[0] != demand.bound.numbers[0]:
        return True
    return version.numbers[1] != demand.bound.numbers[1] and not demand.open_minor


def _greater(version: Version, demand: _Demand) -> bool:
    if demand.bound.is_zero and not version.is_zero:
        return True
    return not _unasked(version, demand) and version.rank > demand.bound.rank


def _at_least(version: Version, demand: _Demand) -> bool:
    if demand.bound.is_zero and not version.is_zero:
        return True
    return not _unasked(version, demand) and version.rank >= demand.bound.rank


def _less(version: Version, demand: _Demand) -> bool:
    if demand.is_open:
        return _within(version, demand)
    return not _unasked(version, demand) and version.rank < demand.bound.rank


def _at_most(version: Version, demand: _Demand) -> bool:
    if demand.is_open:
        return _within(version, demand)
    return not _unasked(version, demand) and version.rank <= demand.bound.rank


def _within(version: Version, demand: _Demand) -> bool:
    """Compare with an open bound from above: `<1.x` takes in all of 1, part by part and each on its own."""
    if _unasked(version, demand) or version.numbers[0] > demand.bound.numbers[0]:
        return False
    return version.numbers[1] <= demand.bound.numbers[1] or demand.open_minor


def _tilde(version: Version, demand: _Demand) -> bool:
    if _unasked(version, demand) or version.rank < demand.bound.rank:
        return False
    if demand.bound.numbers == (0, 0, 0) and not demand.open_minor and not demand.open_patch:
        return True
    same_major = version.numbers[0] == demand.bound.numbers[0]
    return same_major and (demand.open_minor or version.numbers[1] == demand.bound.numbers[1])


def _caret(version: Version, demand: _Demand) -> bool:
    if _unasked(version, demand) or version.rank < demand.bound.rank:
        return False
    return version.numbers[0] == demand.bound.numbers[0]


_OPERATORS: dict[str, Callable[[Version, _Demand], bool]] = {
    "": _equal,
    "=": _equal,
    "!=": _unequal,
    ">": _greater,
    "<": _less,
    ">=": _at_least,
    "=>": _at_least,
    "<=": _at_most,
    "=<": _at_most,
    "~": _tilde,
    "~>": _tilde,
    "^": _caret,
}
