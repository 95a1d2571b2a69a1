"""The values of records, from their text as in zone files to the wire. Pure."""

from __future__ import annotations

import re
from socket import AF_INET, AF_INET6, inet_pton
from struct import Struct
from struct import error as StructError  # noqa: N812 - what struct raises, named as a class is

from hanse.services.dns.names import to_wire
from hanse.services.dns.types import Type

_SRV = Struct("!HHH")
_LONGEST_STRING = 255
# A character-string: in quotes, with anything but quotes unescaped in it, or a word.
_STRING = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))', re.DOTALL)
_ESCAPE = re.compile(r"\\(\d{3}|.)", re.DOTALL)


class BadValue(ValueError):
    """A text that is no value of its type; its sentence says why."""


def to_rdata(kind: Type, value: str) -> bytes:
    """Write a value; names in it are written in full. Raises BadValue."""
    try:
        match kind:
            case Type.A:
                return inet_pton(AF_INET, value)
            case Type.AAAA:
                return inet_pton(AF_INET6, value)
            case Type.CNAME | Type.NS:
                return to_wire(value)
            case Type.SRV:
                priority, weight, port, target = value.split()
                return _SRV.pack(int(priority), int(weight), int(port)) + to_wire(target)
            case Type.TXT:
                return _strings(value)
    except (ValueError, OSError, StructError) as error:
        raise BadValue(f"{value!r} is no value of a record of type {kind.name}: {error}") from error
    raise BadValue(f"records of type {kind.name} are not kept here")


def _strings(value: str) -> bytes:
    written, at = bytearray(), 0
    while at < len(value.rstrip()):
        found = _STRING.match(value, at)
        if found is None:
            raise ValueError("a quote is missing")
        quoted, word = found.groups()
        text = _unescaped(word if quoted is None else quoted)
        if len(text) > _LONGEST_STRING:
            raise ValueError(f"each string must have at most {_LONGEST_STRING} bytes")
        written.append(len(text))
        written += text
        at = found.end()
    if not written:
        raise ValueError("there must be at least one string")
    return bytes(written)


def _unescaped(text: str) -> bytes:
    written, at = bytearray(), 0
    for escape in _ESCAPE.finditer(text):
        written += text[at : escape.start()].encode()
        code = escape[1]
        written += bytes([int(code)]) if code.isdecimal() and len(code) == len("000") else code.encode()
        at = escape.end()
    return bytes(written + text[at:].encode())
