"""Regular expressions in texts: find, findAll."""

from __future__ import annotations

import re

from hanse.apiserver.cel.library.function import Function


def _find(text: str, pattern: str) -> str:
    found = _compiled(pattern).search(text)
    return found.group() if found else ""


def _find_all(text: str, pattern: str) -> list[str]:
    return [found.group() for found in _compiled(pattern).finditer(text)]


def _find_some(text: str, pattern: str, limit: int) -> list[str]:
    found = _find_all(text, pattern)
    return found if limit < 0 else found[:limit]


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"Illegal regex: {error}") from None


FUNCTIONS = (
    Function("find", ("string", "string"), "string", _find),
    Function("findAll", ("string", "string"), "strings", _find_all),
    Function("findAll", ("string", "string", "int"), "strings", _find_some),
)
