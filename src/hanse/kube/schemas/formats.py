"""The string formats that CRD schemas may demand and an API server checks."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime
from urllib.parse import urlsplit

Check = Callable[[str], bool]

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_DURATION = re.compile(r"[+-]?(0|((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)")
_LONG_DURATION = re.compile(
    r"\s*\d+\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?"
    r"|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)\s*"
)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_HOSTNAME = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*")
_MAC = re.compile(r"([0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5,7})|([0-9a-fA-F]{4}(\.[0-9a-fA-F]{4}){2,3})")
_UUID = r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?%s[0-9a-fA-F]{3}-?%s[0-9a-fA-F]{3}-?[0-9a-fA-F]{12}"
_HEX = "[0-9a-fA-F]"


def _matches(pattern: str | re.Pattern[str]) -> Check:
    compiled = re.compile(pattern)
    return lambda value: compiled.fullmatch(value) is not None


def _succeeds(parse: Callable[[str], object]) -> Check:
    def check(value: str) -> bool:
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return check


def _is_date_time(value: str) -> bool:
    if not _DATE_TIME.fullmatch(value):
        return False
    # Python keeps microseconds only; the fraction has been checked above.
    return _succeeds(datetime.fromisoformat)(re.sub(r"\.\d+", "", value).upper())


def _is_base64(value: str) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _is_uri(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return bool(parts.scheme) or value.startswith("/")


def _is_duration(value: str) -> bool:
    return bool(_DURATION.fullmatch(value) or _LONG_DURATION.fullmatch(value))


_CHECKS: dict[str, Check] = {
    "byte": _is_base64,
    "cidr": lambda value: "/" in value and _succeeds(lambda text: ipaddress.ip_network(text, strict=False))(value),
    "date": lambda value: len(value) == 10 and _succeeds(date.fromisoformat)(value),
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _matches(_EMAIL),
    "hostname": lambda value: len(value) <= 255 and _HOSTNAME.fullmatch(value) is not None,
    "ipv4": _succeeds(ipaddress.IPv4Address),
    "ipv6": _succeeds(ipaddress.IPv6Address),
    "mac": _matches(_MAC),
    "uri": _is_uri,
    "uuid": _matches(_UUID % (_HEX, _HEX)),
    "uuid3": _matches(_UUID % ("3", _HEX)),
    "uuid4": _matches(_UUID % ("4", "[89abAB]")),
    "uuid5": _matches(_UUID % ("5", "[89abAB]")),
}


def format_check(name: str) -> Check | None:
    """Return the check of a format; None for one that API servers take as a comment."""
    return _CHECKS.get(name.replace("-", ""))
