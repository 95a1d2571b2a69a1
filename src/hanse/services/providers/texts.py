"""The text form of names and values as providers spell them, brought to the one form that record sets have."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address

_LONGEST_STRING = 255
_STRINGS = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)', re.DOTALL)
_ESCAPE = re.compile(rb"\\(\d{3}|.)", re.DOTALL)
_PLAIN = re.compile(rb"[ !#-\[\]-~]*")
_OCTAL = re.compile(r"\\([0-3][0-7]{2})")


def txt_value(content: str | bytes) -> str:
    """Write any content as the value of a TXT record: quoted, escaped, cut into strings of at most 255 bytes."""
    data = content.encode() if isinstance(content, str) else content
    pieces = [data[at : at + _LONGEST_STRING] for at in range(0, len(data), _LONGEST_STRING)] or [b""]
    return " ".join(map(_quoted, pieces))


def txt_content(value: str) -> bytes:
    """Read the content of a TXT record's value; several strings of it are one after the other."""
    return b"".join(_strings(value))


def canonical_txt(value: str) -> str:
    """Return the value of a TXT record as record sets spell it: its strings as they are cut, each quoted."""
    return " ".join(map(_quoted, _strings(value))) or '""'


def canonical_value(kind: str, value: str) -> str:
    """Return a value in the one form that it has here, whoever spelt it."""
    match kind:
        case "AAAA":
            return str(ip_address(value))
        case "CNAME" | "SRV":
            return value.lower()
        case "TXT":
            return canonical_txt(value)
    return value


def dotted(name: str) -> str:
    """Return a name as providers want it, with the final dot."""
    return f"{name.removesuffix('.')}."


def undotted(name: str) -> str:
    """Return a name as record sets have it: lower case, no final dot."""
    return name.removesuffix(".").lower()


def without_octal(name: str) -> str:
    """Read a name in which unusual characters are spelt in octal, as Route 53 does with the * of a wildcard."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), name)


def within(name: str, zone: str) -> bool:
    """Tell whether a name is a zone's own or below it."""
    return name == zone or name.endswith(f".{zone}")


def _strings(value: str) -> Iterable[bytes]:
    for found in _STRINGS.finditer(value):
        text = found[1] if found[1] is not None else found[2]
        yield _ESCAPE.sub(_unescaped, text.encode())


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code) % 256]) if len(code) == 3 else code


def _quoted(data: bytes) -> str:
    if _PLAIN.fullmatch(data):
        return f'"{data.decode()}"'
    shown = (
        f"\\{char:03d}" if not 32 <= char < 127 else f"\\{chr(char)}" if char in b'"\\' else chr(char) for char in data
    )
    return f'"{"".join(shown)}"'
