"""Schedules of CronJobs: what is wrong with one, in the words of the library that upstream reads them with."""

from __future__ import annotations

from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
# lowest, highest, names by number
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: place + 1 for place, name in enumerate(_MONTHS)}),
    (0, 6, {name: place for place, name in enumerate(_DAYS)}),
)
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


class _BadScheduleError(ValueError):
    """A part of a schedule cannot be read."""


def schedule_problem(schedule: str) -> str:
    """Return what is wrong with a schedule; "" if nothing is."""
    if "TZ" in schedule:
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    if schedule.startswith("@"):
        if schedule in _DESCRIPTORS or schedule.startswith("@every "):
            return ""
        return f"unrecognized descriptor: {schedule}"
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]"
    try:
        for part, bounds in zip(parts, _FIELDS, strict=True):
            for one in part.split(","):
                _check_range(one, *bounds)
    except _BadScheduleError as error:
        return str(error)
    return ""


def _check_range(text: str, lowest: int, highest: int, names: dict[str, int]) -> None:
    span, *steps = text.split("/")
    ends = span.split("-")
    if ends[0] in ("*", "?"):
        start, end = lowest, highest
    else:
        start = _number(ends[0], names)
        end = _number(ends[1], names) if len(ends) > 1 else start
        if len(ends) > 2:
            raise _BadScheduleError(f"too many hyphens: {text}")
    if len(steps) > 1:
        raise _BadScheduleError(f"too many slashes: {text}")
    step = _number(steps[0], {}) if steps else 1
    if steps and len(ends) == 1:
        end = highest
    if start < lowest:
        raise _BadScheduleError(f"beginning of range ({start}) below minimum ({lowest}): {text}")
    if end > highest:
        raise _BadScheduleError(f"end of range ({end}) above maximum ({highest}): {text}")
    if start > end:
        raise _BadScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise _BadScheduleError(f"step of range should be a positive number: {text}")


def _number(text: str, names: dict[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    if not text.isascii() or not text.isdigit():
        raise _BadScheduleError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    return int(text)


def zone_problem(zone: str) -> str:
    """Return what is wrong with a time zone; "" if nothing is."""
    if not zone:
        return "timeZone must be nil or non-empty string"
    if zone.lower() == "local":
        return "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    # On a machine without a time zone database no name can be told from a wrong one.
    return f"unknown time zone {zone}" if _is_known("Etc/UTC") and not _is_known(zone) else ""


@cache
def _is_known(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
