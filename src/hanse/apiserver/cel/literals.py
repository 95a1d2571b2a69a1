"""Object{…} and JSONPatch{…}, the literals of mutating policies, rewritten as the maps that they stand for.

`Object{spec: Object.spec{replicas: 3}}` becomes `{"spec": {"replicas": 3}}`. Text and comments are left as they are.
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
