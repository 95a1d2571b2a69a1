"""Regular expressions as RE2 has them: in time that grows with the text alone, without lookaround or backreferences.

The engine holds RE2 and offers it to expressions only. So a search is an expression too, of an environment apart from
those of users. It gives what the one group of a pattern found; the pattern becomes that group, and loses its own,
which nothing can refer to.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

import orjson

from hanse.kube.cel.foreign import modules

_PIECE = re.compile(
    r"(?P<quoted>\\Q.*?(?:\\E|\Z))|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|(?P<group>\((?:\?P?<\w+>|(?!\?)))|.",
    re.DOTALL,
)
_FAULT = re.compile(r"[A-Z_]+: invalid regular expression: (?P<kind>[^:]*): (?P<what>.*?)(?: \[[A-Z_]+\])?", re.DOTALL)
_REMEMBERED = 500
_AS_GO_SAYS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
}


class IllegalPattern(ValueError):
    """A pattern that RE2 does not take, in Go's words."""


def matches(text: str, pattern: str) -> bool:
    """Tell whether a pattern matches anywhere in a text; raises IllegalPattern."""
    found: bool = _searched("text.matches(pattern)", text, pattern)
    return found


def find(text: str, pattern: str) -> str:
    """Return the first match of a pattern; "" where there is none. Raises IllegalPattern."""
    found: str = _searched("regex.extract(text, pattern).orValue('')", text, pattern)
    return found


def find_all(text: str, pattern: str) -> list[str]:
    """Return what a pattern matches in a text, from left to right, empty matches left out; raises IllegalPattern."""
    found: list[str] = _searched("regex.extractAll(text, pattern)", text, pattern)
    return found


def pattern_problem(pattern: str) -> str:
    """Return what is wrong with a pattern; "" where it can be used."""
    # Patterns can come from objects, and a long one is not worth the memory.
    return _known_problem(pattern) if len(pattern) <= _REMEMBERED else _problem(pattern)


@lru_cache(maxsize=1024)
def _known_problem(pattern: str) -> str:
    return _problem(pattern)


def _problem(pattern: str) -> str:
    value = _search("text.matches(pattern)").eval(data={"text": "", "pattern": pattern}).plain_value()
    if isinstance(value, bool):
        return ""
    return f"error parsing regexp: {in_go_words(str(value))}"


def in_go_words(fault: str) -> str:
    """Return an engine's complaint about a pattern as Go writes it."""
    found = _FAULT.fullmatch(fault)
    if found is None:
        return fault
    return f"{_AS_GO_SAYS.get(found['kind'], found['kind'])}: `{found['what']}`"


def without_groups(pattern: str) -> str:
    """Return a pattern whose groups only hold together what is in them."""
    return "".join("(?:" if piece["group"] else piece.group() for piece in _PIECE.finditer(pattern))


def _searched(source: str, text: str, pattern: str) -> Any:
    problem = pattern_problem(pattern)
    if problem:
        raise IllegalPattern(problem)
    return _search(source).eval(data={"text": text, "pattern": f"({without_groups(pattern)})"}).plain_value()


@cache
def _search(source: str) -> Any:
    cel = modules().cel
    described = {
        "extensions": [{"name": "regex"}, {"name": "optional"}],
        "variables": [{"name": name, "type_name": "string"} for name in ("text", "pattern")],
    }
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(orjson.dumps(described).decode())).compile(source)
