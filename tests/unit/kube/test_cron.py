"""Cron schedules name the times that cron users expect, in their time zone."""

from datetime import UTC, datetime

import pytest

from hanse.kube.cron import Schedule, ScheduleError


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("* * * * *", "2026-03-01T10:00:00", "2026-03-01T10:01:00"),
        ("* * * * *", "2026-03-01T10:00:59", "2026-03-01T10:01:00"),
        ("*/15 * * * *", "2026-03-01T10:15:00", "2026-03-01T10:30:00"),
        ("5/20 * * * *", "2026-03-01T10:06:00", "2026-03-01T10:25:00"),
        ("0 9-17/4 * * *", "2026-03-01T13:00:00", "2026-03-01T17:00:00"),
        ("30 6 * * mon-fri", "2026-03-06T07:00:00", "2026-03-09T06:30:00"),
        ("0 0 1,15 * *", "2026-03-02T00:00:00", "2026-03-15T00:00:00"),
        ("0 0 29 feb *", "2026-03-01T00:00:00", "2028-02-29T00:00:00"),
        # Either of two restricted days is enough.
        ("0 0 13 * 5", "2026-03-01T00:00:00", "2026-03-06T00:00:00"),
        ("0 0 */13 * 5", "2026-03-01T00:00:00", "2026-03-27T00:00:00"),
        ("@hourly", "2026-03-01T10:00:00", "2026-03-01T11:00:00"),
        ("@weekly", "2026-03-02T00:00:00", "2026-03-08T00:00:00"),
        ("@yearly", "2026-03-01T00:00:00", "2027-01-01T00:00:00"),
        ("@every 90s", "2026-03-01T10:00:00", "2026-03-01T10:01:30"),
        ("@every 1h30m", "2026-03-01T10:00:00", "2026-03-01T11:30:00"),
    ],
)
def test_the_next_time(schedule, after, expected):
    assert Schedule.parse(schedule).next(at(after)) == at(expected)


@pytest.mark.parametrize(
    ("zone", "after", "expected"),
    [
        ("Europe/Berlin", "2026-01-10T00:00:00", "2026-01-10T01:30:00"),
        ("Europe/Berlin", "2026-07-10T01:00:00", "2026-07-11T00:30:00"),
        # The hour that the clock skips in spring names no time.
        ("Europe/Berlin", "2026-03-28T12:00:00", "2026-03-30T00:30:00"),
        ("Asia/Kolkata", "2026-01-10T00:00:00", "2026-01-10T21:00:00"),
    ],
)
def test_half_past_two_is_where_the_clock_says_so(zone, after, expected):
    assert Schedule.parse("30 2 * * *", zone).next(at(after)) == at(expected)


def test_the_hour_that_comes_twice_is_named_twice():
    schedule = Schedule.parse("30 * * * *", "Europe/Berlin")
    first = schedule.next(at("2026-10-25T00:00:00"))
    assert first == at("2026-10-25T00:30:00")
    assert schedule.next(first) == at("2026-10-25T01:30:00")


def test_a_day_that_no_month_has_is_never():
    assert Schedule.parse("0 0 31 2 *").next(at("2026-01-01T00:00:00")) is None


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59) in minute: 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1) in day of month: 0"),
        ("* * * * 7", "end of range (7) above maximum (6) in day of week: 7"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3) in minute: 5-3"),
        ("*/0 * * * *", "step of range should be a positive number in minute: */0"),
        ("x * * * *", "failed to parse int from x"),
        ("@reboot", "unrecognized descriptor: @reboot"),
        ("@every soon", "failed to parse duration @every soon"),
    ],
)
def test_what_cannot_be_read_is_said(schedule, told):
    with pytest.raises(ScheduleError) as refused:
        Schedule.parse(schedule)
    assert str(refused.value) == told


def test_an_unknown_time_zone_is_said():
    with pytest.raises(ScheduleError, match="unknown time zone Nowhere/Land"):
        Schedule.parse("* * * * *", "Nowhere/Land")
