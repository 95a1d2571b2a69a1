"""When backups are due: a cron schedule, or a frequency that spreads the shards over the time between two backups."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from hanse.kube.cron import Schedule

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_HOUR = 60
_DAY_HOURS = 24


class ScheduleInvalid(ValueError):
    """A schedule that can never be followed; a sentence that names the field."""


def frequency_minutes(text: str) -> int:
    """Return a frequency in minutes; raises ScheduleInvalid where it divides neither an hour nor a day."""
    found = _DURATION.fullmatch(text)
    hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found and text else (0, 0, 0)
    total = hours * _HOUR + minutes
    divides = total and (
        _HOUR % total == 0 if total < _HOUR else total % _HOUR == 0 and _DAY_HOURS % (total // _HOUR) == 0
    )
    if seconds or not divides:
        raise ScheduleInvalid(
            f"frequency: must divide an hour or a day in whole minutes (1m to 30m, 1h to 12h, 24h), and is {text!r}"
        )
    return total


def _divides(minutes: int) -> bool:
    if minutes < _HOUR:
        return _HOUR % minutes == 0
    return minutes % _HOUR == 0 and _DAY_HOURS % (minutes // _HOUR) == 0


def spread_offset(cluster: str, keyspace: str, shard: str, name: str, minutes: int) -> int:
    """Return by how many minutes a shard's backups are shifted, so that not all are made at once."""
    hashed = hashlib.sha256(f"{cluster}|{keyspace}|{shard}|{name}".encode()).digest()
    return int.from_bytes(hashed[:8], "big") % minutes


def frequency_cron(minutes: int, offset: int) -> str:
    """Return the cron schedule of a frequency."""
    minute, hour = offset % _HOUR, offset // _HOUR
    if minutes == _DAY_HOURS * _HOUR:
        return f"{minute} {hour} * * *"
    if minutes > _HOUR:
        return f"{minute} {hour}/{minutes // _HOUR} * * *"
    if minutes == _HOUR:
        return f"{minute} * * * *"
    return f"{minute}/{minutes} * * * *"


@dataclass(frozen=True, slots=True)
class Due:
    """The latest time that was due and not met, None where there is none; how many were; and the next one."""

    latest: float | None
    missed: int
    next: float | None


def due(schedule: Schedule, since: float, now: float, limit: int) -> Due:
    """Return what was due after `since`; no more than `limit` and one missed times are counted."""
    latest, missed, moment = None, 0, schedule.next(since)
    while moment is not None and moment <= now and missed <= limit:
        latest, missed = moment, missed + 1
        moment = schedule.next(moment)
    return Due(latest, missed, moment)
