"""How soon the status of a source is looked at."""

from __future__ import annotations

from hanse.kube.manifest import Key
from hanse.kube.resources import DEPLOYMENTS
from hanse.propagation.intent import Ref
from hanse.propagation.reporting import STATUS_SECONDS, Pace

WEB = Ref(DEPLOYMENTS, Key("shop", "web"))


def storm(pace: Pace, now: float) -> None:
    for count in range(20):
        pace.decided(now + count / 100)


def test_a_status_follows_in_small_steps_while_little_changes() -> None:
    pace = Pace()
    for second in range(100):
        pace.decided(second / 5)
    assert pace.seconds(20.0) == STATUS_SECONDS


def test_a_status_waits_while_much_changes_at_once() -> None:
    pace = Pace()
    storm(pace, 0.0)
    assert pace.seconds(0.2) == 2.0


def test_when_the_storm_is_over_steps_are_small_again() -> None:
    pace = Pace()
    storm(pace, 0.0)
    assert pace.seconds(1.0) == STATUS_SECONDS


def test_what_could_be_told_waits_for_the_end_of_the_storm() -> None:
    pace = Pace()
    storm(pace, 0.0)
    assert pace.hold(WEB, 0.2) == 1.0
    assert pace.hold(WEB, 1.2) == 0.0


def test_no_status_waits_longer_than_ten_seconds() -> None:
    pace = Pace()
    waits = []
    for second in range(11):
        storm(pace, second)
        waits.append(pace.hold(WEB, second + 0.2))
    assert waits == [1.0] * 10 + [0.0]
