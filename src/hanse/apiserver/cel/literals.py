"""Object{…} and JSONPatch{…}, the literals of mutating policies, in the two forms in which the engine takes them.

To be evaluated, `Object{spec: Object.spec{replicas: 3}}` becomes `{"spec": {"replicas": 3}}`. To be checked, the names
of types become single words of the same length, with the fields that are given to them. Text and comments are left
as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PIECE = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"))"""
    r"""|(?P<comment>//[^\n]*)"""
    r"""|(?P<literal>(?<![\w.])(?:Object(?:\.\w+)*|JSONPatch)\s*\{)"""
    r"""|(?P<name>(?<![\w.])[A-Za-z_]\w*(?=\s*:))"""
    r"""|(?P<open>[\[({])|(?P<close>[\])}])|(?P<other>.)""",
    re.DOTALL,
)


@dataclass(slots=True)
class _Level:
    """A bracket that is open: whether its names are fields, and whether a name may begin an entry here."""

    fields: bool
    entry: bool = True


@dataclass(frozen=True, slots=True)
class TypedLiterals:
    """An expression whose literals are of declared types, and those types with their fields."""

    source: str
    fields: dict[str, set[str]]


def as_types(source: str) -> TypedLiterals:
    """Return an expression in which the literals of mutating policies can be checked; positions stay the same."""
    found = TypedLiterals("", {"Object": set()})
    if "Object" not in source:
        return TypedLiterals(source, found.fields)
    levels = [_Level(fields=False)]
    names: list[str] = [""]
    pieces = []
    for piece in _PIECE.finditer(source):
        text, level = piece.group(), levels[-1]
        if piece["name"] and level.fields and level.entry and names[-1].startswith("Object"):
            found.fields[names[-1]].add(text)
        _rewritten(piece, levels)
        if piece["literal"]:
            text = text.replace(".", "_")
            names.append(text.rstrip("{ \t\r\n"))
            found.fields.setdefault(names[-1], set())
        elif piece["open"]:
            names.append("")
        elif piece["close"] and len(names) > 1:
            names.pop()
        pieces.append(text)
    return TypedLiterals("".join(pieces), found.fields)


def as_maps(source: str) -> str:
    """Return an expression in which the literals of mutating policies are maps; others are returned unchanged."""
    if "Object" not in source and "JSONPatch" not in source:
        return source
    levels = [_Level(fields=False)]
    return "".join(_rewritten(piece, levels) for piece in _PIECE.finditer(source))


def _rewritten(piece: re.Match[str], levels: list[_Level]) -> str:
    text = piece.group()
    level = levels[-1]
    if piece["literal"]:
        level.entry = False
        levels.append(_Level(fields=True))
        return "{"
    if piece["open"]:
        level.entry = False
        levels.append(_Level(fields=False))
    elif piece["close"]:
        if len(levels) > 1:
            levels.pop()
    elif piece["name"] and level.fields and level.entry:
        level.entry = False
        return f'"{_field(text)}"'
    elif text == ",":
        level.entry = True
    elif text.strip() and text != "?" and not piece["comment"]:
        level.entry = False
    return text


def _field(name: str) -> str:
    escapes = {"__dot__": ".", "__dash__": "-", "__slash__": "/", "__underscores__": "__"}
    for escaped, plain in escapes.items():
        name = name.replace(escaped, plain)
    return name[2:-2] if name.startswith("__") and name.endswith("__") and len(name) > 4 else name
