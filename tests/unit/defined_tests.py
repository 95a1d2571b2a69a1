"""Which tests a file defines, for pages that name tests.

Read line by line and not by `ast`: after tests that run servers in the same process, `ast.parse` of Python 3.11.7 was
seen to raise a SystemError now and then ("AST constructor recursion depth mismatch").
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
_DEFINED = re.compile(r"^(class|(?:    )?(?:async )?def) (\w+)", re.MULTILINE)


@cache
def names_in(path: str) -> tuple[frozenset[str], str]:
    """Return the names of a file's tests, those in classes with their class, and its text."""
    text = (CHECKOUT / path).read_text(encoding="utf-8")
    names, owner = set(), ""
    for what, name in _DEFINED.findall(text):
        if not what.startswith(" "):
            owner = f"{name}::" if what == "class" else ""
        if what != "class" and (owner or not what.startswith(" ")):
            names.add(f"{owner}{name}")
    return frozenset(names), text
