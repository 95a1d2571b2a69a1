"""Cron schedules: reading their five fields and finding the next time that they name.

The grammar is the one that CronJobs are checked against: names of months and days, ranges, steps, lists, `@daily` and
its like, `@every 1h30m`. Where both the day of the month and the day of the week are restricted, either is enough.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

_MINUTE = 60.0
_YEARS_AHEAD = 5
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, {name: place + 1 for place, name in enumerate(_MONTHS)}),
    ("day of week", 0, 6, {name: place for place, name in enumerate(_DAYS)}),
)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)([hms])")


class ScheduleError(ValueError):
    """A schedule that cannot be read; the text says which part and why."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The times that a schedule names, in one time zone; `every` is the period of the `@every` form."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    either_day: bool = False
    every: float = 0.0
    zone: tzinfo = UTC

    @classmethod
    def parse(cls, text: str, time_zone: str = "") -> Schedule:
        """Read a schedule; raises ScheduleError."""
        zone = read_zone(time_zone) if time_zone else UTC
        text = text.strip()
        if text.startswith("@every "):
            return cls(every=_duration(text.removeprefix("@every ").strip()), zone=zone)
        if text.startswith("@") and text not in _DESCRIPTORS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
        parts = _DESCRIPTORS.get(text, text).split()
        if len(parts) != len(_FIELDS):
            raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(parts)}: [{text}]")
        minutes, hours, days, months, weekdays = (
            _field(part, *field) for part, field in zip(parts, _FIELDS, strict=True)
        )
        starred = any(part.startswith(("*", "?")) for part in (parts[2], parts[4]))
        return cls(minutes, hours, days, months, weekdays, either_day=not starred, zone=zone)

    def next(self, after: float) -> float | None:
        """Return the first time after a moment; None where the schedule names none, as the 31st of February."""
        if self.every:
            return float(int(after)) + self.every
        moment = (after // _MINUTE + 1) * _MINUTE
        horizon = moment + _YEARS_AHEAD * 366 * 86400
        while moment < horizon:
            local = datetime.fromtimestamp(moment, self.zone)
            if local.month not in self.months or not self._on_day(local):
                moment = max(moment + _MINUTE, _next_midnight(local))
            elif local.hour not in self.hours:
                moment += (60 - local.minute) * _MINUTE
            elif local.minute not in self.minutes:
                moment += _MINUTE
            else:
                return moment
        return None

    def _on_day(self, local: datetime) -> bool:
        by_month, by_week = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return by_month or by_week if self.either_day else by_month and by_week


def read_zone(name: str) -> tzinfo:
    """Return a time zone by its name; raises ScheduleError where there is none."""
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:
        raise ScheduleError(f"unknown time zone {name}") from error


def _next_midnight(local: datetime) -> float:
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0, tzinfo=None) + timedelta(days=1)
    return day.replace(tzinfo=local.tzinfo).timestamp()


def _duration(text: str) -> float:
    if not text or _DURATION.sub("", text):
        raise ScheduleError(f"failed to parse duration @every {text}")
    # Nothing is started more often than every second.
    return max(1.0, float(int(sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(text)))))


def _field(text: str, name: str, low: int, high: int, names: dict[str, int]) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        first, dash, last = span.partition("-")
        if first in ("*", "?"):
            start, end = low, high
        else:
            start = _number(first, names)
            end = _number(last, names) if dash else high if slash else start
        step = _number(step_text, {}) if slash else 1
        if start < low:
            raise ScheduleError(f"beginning of range ({start}) below minimum ({low}) in {name}: {part}")
        if end > high:
            raise ScheduleError(f"end of range ({end}) above maximum ({high}) in {name}: {part}")
        if start > end:
            raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}) in {name}: {part}")
        if step == 0:
            raise ScheduleError(f"step of range should be a positive number in {name}: {part}")
        found |= set(range(start, end + 1, step))
    return frozenset(found)


def _number(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not (text.isascii() and text.isdigit()):
        raise ScheduleError(f"failed to parse int from {text}")
    return int(text)
