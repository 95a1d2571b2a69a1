"""Literals that cannot mean what they are written for: malformed patterns, durations and times."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hanse.kube.cel.regex import pattern_problem
from hanse.kube.cel.syntax import Call, Constant, Node, children, read_positions, read_tree
from hanse.kube.schemas.formats import format_check

_DURATION = re.compile(r"[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)")


def literal_problem(source: str, serialized: bytes) -> str:
    """Return the compiler's message about the literals of an expression that are malformed; "" where none is."""
    if not any(f"{function}(" in source for function in _CHECKS):
        return ""
    wrong = list(_wrong(read_tree(serialized)))
    positions = read_positions(serialized) if wrong else {}
    return "\n".join(_message(source, function, positions.get(number, 0)) for function, number in wrong)


def _wrong(node: Node) -> Iterator[tuple[str, int]]:
    if isinstance(node, Call) and node.function in _CHECKS and node.args:
        given = node.args[-1]
        if isinstance(given, Constant) and isinstance(given.value, str) and not _CHECKS[node.function](given.value):
            yield node.function, given.number
    for child in children(node):
        yield from _wrong(child)


def _message(source: str, function: str, offset: int) -> str:
    line = source.count("\n", 0, offset)
    column = offset - (source.rfind("\n", 0, offset) + 1)
    text = source.split("\n")[line]
    shown = f" | {text}\n | {'.' * column}^"
    return f"ERROR: <input>:{line + 1}:{column + 1}: invalid {function} argument\n{shown}"


def _is_time(text: str) -> bool:
    check = format_check("date-time")
    return check is None or check(text)


_CHECKS: dict[str, Callable[[str], bool]] = {
    "matches": lambda pattern: not pattern_problem(pattern),
    "duration": lambda text: bool(_DURATION.fullmatch(text)),
    "timestamp": _is_time,
}
