"""Words of clusters on a person's screen: what a terminal would obey instead of showing is made visible."""

from __future__ import annotations

import unicodedata

# Control characters, and those that turn the direction of writing: both make a screen show what is not there.
_OBEYED = ("Cc", "Cf", "Zl", "Zp")


def printable(text: str) -> str:
    """Return a text of a cluster's in one line, with every character that a terminal obeys written as an escape."""
    if text.isprintable():
        return text
    return "".join(_visible(each) for each in text)


def _visible(character: str) -> str:
    if character in "\n\t":
        return " "
    if unicodedata.category(character) not in _OBEYED:
        return character
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
