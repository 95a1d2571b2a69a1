"""Regular expressions in texts: find, findAll."""

from __future__ import annotations

from hanse.kube.cel import regex
from hanse.kube.cel.library.function import Function


def _find(text: str, pattern: str) -> str:
    try:
        return regex.find(text, pattern)
    except regex.IllegalPattern as error:
        raise ValueError(f"Illegal regex: {error}") from None


def _find_all(text: str, pattern: str) -> list[str]:
    try:
        return regex.find_all(text, pattern)
    except regex.IllegalPattern as error:
        raise ValueError(f"Illegal regex: {error}") from None


def _find_some(text: str, pattern: str, limit: int) -> list[str]:
    found = _find_all(text, pattern)
    return found if limit < 0 else found[:limit]


FUNCTIONS = (
    Function("find", ("string", "string"), "string", _find),
    Function("findAll", ("string", "string"), "strings", _find_all),
    Function("findAll", ("string", "string", "int"), "strings", _find_some),
)
