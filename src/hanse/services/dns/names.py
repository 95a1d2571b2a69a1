"""Domain names on the wire: each label behind its length, the root's empty one last. Pure.

Names are compared in lower case. No length of a label is the code of a capital letter, so that a whole name can be
lowered as it is.
"""

from __future__ import annotations

_LONGEST_LABEL = 63
_LONGEST_NAME = 255
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_*")


class BadName(ValueError):
    """A text that is no domain name; its sentence says why."""


def to_wire(text: str) -> bytes:
    """Write a name, with or without its final dot; raises BadName."""
    if text in ("", "."):
        return b"\0"
    written = bytearray()
    for label in text.removesuffix(".").split("."):
        if not label or len(label) > _LONGEST_LABEL:
            raise BadName(f"{text!r} is no domain name: each part of it must have 1 to {_LONGEST_LABEL} characters")
        if not label.isascii() or "\\" in label:
            raise BadName(f"{text!r} is no domain name here: it must be of ASCII characters without a backslash")
        written.append(len(label))
        written += label.encode()
    written.append(0)
    if len(written) > _LONGEST_NAME:
        raise BadName(f"{text!r} is no domain name: it must not have more than {_LONGEST_NAME - 2} characters")
    return bytes(written)


def to_text(name: bytes) -> str:
    """Write a name for people, with its final dot; what is not plain is escaped as in zone files."""
    return "".join(f"{_readable(label)}." for label in labels(name)) or "."


def labels(name: bytes) -> list[bytes]:
    """Return the labels of a well-formed name, without the root's."""
    found, at = [], 0
    while name[at]:
        end = at + 1 + name[at]
        found.append(name[at + 1 : end])
        at = end
    return found


def parents(name: bytes) -> list[bytes]:
    """Return a name and every name above it, the root last."""
    found, at = [name], 0
    while name[at]:
        at += 1 + name[at]
        found.append(name[at:])
    return found


def _readable(label: bytes) -> str:
    return "".join(chr(code) if code in _PLAIN else f"\\{code:03}" for code in label)
