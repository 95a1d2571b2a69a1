"""Reading the fields of a health check one by one: each has one form, and every other is one sentence."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping, Sequence
from typing import Any

from hanse.api.health_reports import HEALTH_CHECK_ANNOTATION
from hanse.services.presence import Port

_LARGEST_PORT = 65535
_LONGEST_TEXT = 4096
_LONGEST_HOST = 253
_HOST = re.compile(r"[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9])?)*")


class BadCheck(ValueError):
    """A health check that cannot be understood; its text says which field, and what belongs there."""


class Fields:
    """The fields of one check, each of which may be asked for once."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._left = dict(document)
        self._known: list[str] = []

    def finish(self) -> None:
        """Refuse what nobody asked for: a field that is misspelt would otherwise do nothing, silently."""
        for name in self._left:
            raise _bad(name, f"is not a field of this type of check; it has {', '.join(self._known)}")

    def choice(self, name: str, allowed: Sequence[str], *, default: str | None = None) -> str:
        """Return one of a few words."""
        value = self._take(name, default)
        if value not in allowed:
            raise _bad(name, f"must be one of {', '.join(allowed)}, not {value!r}")
        return str(value)

    def text(self, name: str) -> str:
        """Return a text, "" where there is none."""
        value = self._take(name, "")
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
            raise _bad(name, f"must be a text of at most {_LONGEST_TEXT} characters")
        return value

    def path(self, name: str) -> str:
        """Return the path of a URL; one line, so that it can be sent as it is."""
        value = self._take(name, "/")
        if not isinstance(value, str) or not value.startswith("/") or not value.isprintable() or " " in value:
            raise _bad(name, f"must be a path such as /healthz, not {value!r}")
        return value

    def host(self, name: str) -> str:
        """Return the name of a host, "" where there is none."""
        value = self.text(name)
        if value and (len(value) > _LONGEST_HOST or not _HOST.fullmatch(value)):
            raise _bad(name, f"must be the name of a host, not {value!r}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false."""
        value = self._take(name, default)
        if not isinstance(value, bool):
            raise _bad(name, f"must be true or false, not {value!r}")
        return value

    def number(self, name: str, default: float, *, least: float, most: float) -> float:
        """Return a number within bounds."""
        value = self._take(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise _bad(name, f"must be a number from {least:g} to {most:g}, not {value!r}")
        return value

    def count(self, name: str, default: int) -> int:
        """Return how many of something it takes: at least one."""
        value = self._take(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100:
            raise _bad(name, f"must be a whole number from 1 to 100, not {value!r}")
        return value

    def port(self, name: str, ports: Sequence[Port], protocol: str) -> int:
        """Return a port by its number, or by its name in the Service; by default its first one of the protocol."""
        value = self._take(name, None)
        usable = [port for port in ports if port.protocol == protocol]
        if value is None and usable:
            return usable[0].number
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST_PORT:
            return value
        for port in usable:
            if port.name and port.name == value:
                return port.number
        named = ", ".join(port.name for port in usable if port.name) or "none with a name"
        raise _bad(name, f"must be a port's number, or the name of a {protocol} port of the Service ({named})")

    def ranges(self, name: str, default: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """Return HTTP statuses: numbers, and texts such as "200-299"."""
        value = self._take(name, None)
        if value is None:
            return default
        entries = value if isinstance(value, list) and value else [value]
        return tuple(_range(name, entry) for entry in entries)

    def certificates(self, name: str) -> str:
        """Return certificates of authorities in PEM, "" where there are none."""
        value = self._take(name, "")
        if value == "":
            return ""
        try:
            ssl.create_default_context(cadata=value)
        except (ssl.SSLError, ValueError, TypeError) as error:
            raise _bad(name, "must be certificates in PEM, beginning with -----BEGIN CERTIFICATE-----") from error
        return str(value)

    def _take(self, name: str, default: Any) -> Any:
        self._known.append(name)
        return self._left.pop(name, default)


def _range(name: str, entry: object) -> tuple[int, int]:
    low, dash, high = str(entry).partition("-")
    high = high if dash else low
    if isinstance(entry, int | str) and low.isdecimal() and high.isdecimal() and 100 <= int(low) <= int(high) <= 599:
        return int(low), int(high)
    raise _bad(name, f'must be a list of HTTP statuses such as [200, "300-399"], not {entry!r}')


def _bad(name: str, sentence: str) -> BadCheck:
    return BadCheck(f"annotation {HEALTH_CHECK_ANNOTATION}, field {name}: {sentence}")
