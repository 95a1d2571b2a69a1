"""How soon the status of a source is looked at."""

from __future__ import annotations

from hanse.kube.manifest import Key
from hanse.kube.resources import DEPLOYMENTS
from hanse.propagation.intent import Ref
from hanse.propagation.reporting import STATUS_SECONDS, Pace

WEB = Ref(DEPLOYMENTS, Key("shop", "web"))
STORM_SECONDS = 2.0


def storm(pace: Pace, now: float) -> None:
    for count in range(20):
        pace.changed(now + count / 100)


def test_a_status_follows_in_small_steps_while_little_changes() -> None:
    pace = Pace()
    for second in range(100):
        pace.changed(second / 5)
    assert pace.seconds(20.0) == STATUS_SECONDS


def test_a_status_waits_while_much_changes_at_once() -> None:
    pace = Pace()
    storm(pace, 0.0)
    assert pace.seconds(0.2) == STORM_SECONDS


def test_when_the_storm_is_over_steps_are_small_again() -> None:
    pace = Pace()
    storm(pace, 0.0)
    assert pace.seconds(1.0) == STATUS_SECONDS


def test_what_could_be_told_waits_for_the_end_of_the_storm() -> None:
    pace = Pace()
    storm(pace, 0.0)
    assert pace.hold(WEB, 0.2) == STORM_SECONDS
    assert pace.hold(WEB, 1.2) == 0.0


def test_no_status_waits_longer_than_a_minute() -> None:
    pace = Pace()
    waits = []
    for second in range(61):
        storm(pace, second)
        waits.append(pace.hold(WEB, second + 0.2))
    assert waits == [STORM_SECONDS] * 60 + [0.0]


def test_only_what_is_final_is_left_alone_in_a_storm() -> None:
    pace = Pace()
    storm(pace, 0.0)
    pace.note(WEB, final=False)
    under_way = pace.rest(WEB, 0.2)
    pace.note(WEB, final=True)
    assert (under_way, pace.rest(WEB, 0.2), pace.rest(WEB, 1.2)) == (0.0, STORM_SECONDS, 0.0)
