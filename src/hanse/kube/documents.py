"""Documents out of YAML and JSON text, read as Kubernetes' own tools read them. Pure.

Beyond a plain YAML reader: dates and times of day stay texts, keys become texts, and text that would unfold into
something far larger than itself is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import orjson
import yaml

# More values than any rendering within the limit of its size has; anchors and aliases can make far more.
_MOST_VALUES = 2_000_000
_DEEPEST = 200
_OPENINGS = ("[", "{", "- ", "-\t", "-\n", "? ", "?\t", "?\n", ":")
_SMALLEST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**64 - 1
_WHOLE = 1e15
_MARK = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# What PyYAML raises: beside its own errors whatever Python says to a tagged value that is none of its type.
YAML_ERRORS = (yaml.YAMLError, AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)


class BadDocument(ValueError):
    """Text that is not read, and why, in one sentence."""


class _ManifestLoader(_Loader):  # type: ignore[misc]
    """Reads plain scalars as Go's YAML does: no dates, no numbers to base sixty, exponents without a point."""


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    integer = r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)"
    fraction = r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan"
    rules = [
        ("bool", r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
        ("int", integer, "-+0123456789"),
        ("float", fraction, "-+0123456789."),
        ("merge", r"<<", "<"),
        ("null", r"~|null|Null|NULL|", "~nN\0"),
    ]
    table: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for tag, pattern, starts in rules:
        for start in starts:
            first = "" if start == "\0" else start
            table.setdefault(first, []).append((f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})$")))
    return table


def _integer(loader: Any, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node)).replace("_", "")
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if digits.startswith("0") and digits.isdigit() and digits != "0":
        return sign * int(digits, 8)
    return sign * int(digits, 0)


_ManifestLoader.yaml_implicit_resolvers = _resolvers()
_ManifestLoader.add_constructor("tag:yaml.org,2002:int", _integer)


def read_values(text: str, where: str) -> list[Any]:
    """Return what each document of a text holds, in JSON's types; raises BadDocument, which begins with `where`."""
    documents = [document for part, line in _parts(text) for document in _read(part, where, line)]
    for document in documents:
        _weigh(document, {}, where)
    return [_plain(document, where) for document in documents]


def _parts(text: str) -> Iterator[tuple[str, int]]:
    """Yield a text in parts of one document each, with the line that it begins in.

    One after the other, a reader written in C holds the interpreter for a moment only, however long the text is.
    """
    marks = [] if _DIRECTIVE.search(text) else [found.start() for found in _MARK.finditer(text)]
    line = 0
    for start, end in pairwise([0, *marks, len(text)]):
        part = text[start:end]
        if part.strip():
            yield part, line
        line += part.count("\n")


def _read(text: str, where: str, first_line: int) -> list[Any]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return [orjson.loads(text)]
        except orjson.JSONDecodeError:
            pass  # YAML may begin so too
    try:
        _check_depth(text, where)
        return list(yaml.load_all(text, Loader=_ManifestLoader))
    except BadDocument:
        raise
    except YAML_ERRORS as error:
        mark = getattr(error, "problem_mark", None)
        # The faster parser puts what is missing at the end one line below it.
        line = f" (line {first_line + min(mark.line + 1, len(text.splitlines()))})" if mark else ""
        raise BadDocument(f"{where} is not valid YAML{line}") from error


def _check_depth(text: str, where: str) -> None:
    # The loader calls itself for every level and would exhaust the stack, which ends the process; events come flat.
    if sum(map(text.count, _OPENINGS)) <= _DEEPEST:
        return
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise BadDocument(_too_deep(where))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _too_deep(where: str) -> str:
    return f"{where} is nested more than {_DEEPEST} deep; that is not read"


def _weigh(value: Any, weights: dict[int, int], where: str, depth: int = 0) -> int:
    """Count the values that a document unfolds into, without unfolding it: what an alias names is counted once."""
    if not isinstance(value, dict | list):
        return 1
    known = weights.get(id(value))
    if known is not None:
        return known
    if depth > _DEEPEST:
        raise BadDocument(_too_deep(where))
    # One that holds itself is as heavy as can be.
    weights[id(value)] = _MOST_VALUES + 1
    held = value.values() if isinstance(value, dict) else value
    weight = 1 + sum(_weigh(each, weights, where, depth + 1) for each in held)
    if weight > _MOST_VALUES:
        raise BadDocument(f"{where} unfolds into more than can be read; use fewer aliases")
    weights[id(value)] = weight
    return weight


def _plain(value: Any, where: str) -> Any:
    """Make of what a YAML reader gave what JSON can hold."""
    if isinstance(value, dict):
        return {_key(key): _plain(each, where) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, where) for each in value]
    if isinstance(value, int) and not _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER:
        return _rounded(value, where)
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        # Go writes such a number without its point, and whoever reads it finds a whole one.
        return int(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    raise BadDocument(f"{where} holds a value that no manifest can have")


def _rounded(value: int, where: str) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise BadDocument(f"{where} holds a number that is larger than any that can be read") from error


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)
