"""The differences that we know, as data: which requests, which part of the answer, and why.

Names and paths are patterns in which `*` stands for anything. The contract test checks the table both ways: a
difference that no row covers fails, and so does a row that covers none. docs/reference/apiserver-differences.md is
written from it by `python -m tests.contract.page`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Known:
    """One row: these parts of the answers to these requests differ, for this reason."""

    requests: tuple[str, ...]
    paths: tuple[str, ...]
    reason: str

    def covers(self, request: str, path: str) -> bool:
        """Tell whether the row speaks of a difference."""
        return any(_pattern(one).fullmatch(request) for one in self.requests) and any(
            _pattern(one).fullmatch(path) for one in self.paths
        )

    def parts(self) -> list[Known]:
        """Return the row once for each of its requests and once for each of its paths."""
        by_request = [Known((request,), self.paths, self.reason) for request in self.requests]
        return by_request + [Known(self.requests, (path,), self.reason) for path in self.paths]


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in text.split("*")), re.DOTALL)


def row(requests: str | Iterable[str], paths: str | Iterable[str], reason: str) -> Known:
    """Return a row; one name or path may stand for itself."""
    return Known(_several(requests), _several(paths), reason)


def _several(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
