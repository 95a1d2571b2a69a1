"""Spans of time as people write them in files and on the command line: `500ms`, `10s`, `5m`, `1h30m`, or seconds."""

from __future__ import annotations

import re
from typing import Any

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_WHOLE = re.compile(r"-?(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")
DURATION_RULE = "must be a time such as 500ms, 10s, 5m or 1h30m"


def parse_duration(value: Any) -> float:
    """Return the seconds that a text or a number means; raises ValueError."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str) or not _WHOLE.fullmatch(value):
        raise ValueError(f"{value!r} is no span of time")
    size = round(sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value)), 6)
    return -size if value.startswith("-") else size


def duration_text(seconds: float) -> str:
    """Write seconds in the shortest of the forms that `parse_duration` reads, to the millisecond."""
    milliseconds = round(abs(seconds) * 1000)
    sign = "-" if seconds < 0 and milliseconds else ""
    if milliseconds == 0:
        return "0s"
    if milliseconds % 1000 and milliseconds < 1000:
        return f"{sign}{milliseconds}ms"
    if milliseconds % 1000:
        return f"{sign}{milliseconds / 1000:g}s"
    whole = milliseconds // 1000
    parts = [(whole // 3600, "h"), (whole % 3600 // 60, "m"), (whole % 60, "s")]
    return sign + "".join(f"{count}{unit}" for count, unit in parts if count)
