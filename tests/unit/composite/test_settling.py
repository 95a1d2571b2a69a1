"""A hook whose output never settles is left alone for a while, and the field that flaps is named."""

import pytest

from hanse.composite.settling import ANY_VALUE, FIRST_REST_SECONDS, LONGEST_REST_SECONDS, SAME_VALUE, Settling
from hanse.kube.patches.differences import Difference

REPLICAS = "spec.replicas"


def _write(settling: Settling, times: int, *, start: float = 0.0, every: float = 1.0, value=lambda turn: turn) -> float:
    for turn in range(times):
        settling.wrote("uid", 1, "Deployment web", [Difference(REPLICAS, None, value(turn))], start + turn * every)
    return start + times * every


@pytest.mark.parametrize(
    ("times", "value", "every", "flaps"),
    [
        (SAME_VALUE - 1, lambda _turn: 3, 1.0, False),
        (SAME_VALUE, lambda _turn: 3, 1.0, True),
        (SAME_VALUE * 3, lambda _turn: 3, 15.0, False),
        (ANY_VALUE - 1, lambda turn: turn, 1.0, False),
        (ANY_VALUE, lambda turn: turn, 1.0, True),
        (ANY_VALUE * 2, lambda turn: turn, 5.0, False),
        (2 * SAME_VALUE, lambda turn: turn % 2, 1.0, True),
    ],
)
def test_only_what_is_written_often_within_the_window_flaps(times, value, every, flaps):
    settling = Settling()
    now = _write(settling, times, value=value, every=every)
    assert (settling.resting("uid", 1, now) is not None) is flaps


def test_the_field_and_the_child_are_named_and_no_value_is():
    settling = Settling()
    now = _write(settling, SAME_VALUE, value=lambda _turn: "hunter2")
    resting = settling.resting("uid", 1, now)
    assert resting is not None
    assert "spec.replicas of Deployment web" in resting.sentence
    assert "hunter2" not in resting.sentence


def test_each_rest_is_longer_than_the_last_up_to_a_limit():
    settling, now, rests = Settling(), 0.0, []
    for _ in range(7):
        now = _write(settling, SAME_VALUE, start=now, every=0.0, value=lambda _turn: 3)
        resting = settling.resting("uid", 1, now)
        assert resting is not None
        rests.append(resting.seconds)
        now += resting.seconds
    assert rests[:3] == [FIRST_REST_SECONDS, 2 * FIRST_REST_SECONDS, 4 * FIRST_REST_SECONDS]
    assert rests[-1] == LONGEST_REST_SECONDS


def test_a_changed_parent_gets_a_new_chance_at_once():
    settling = Settling()
    now = _write(settling, SAME_VALUE, value=lambda _turn: 3)
    assert settling.resting("uid", 2, now) is None


def test_a_parent_that_is_gone_is_forgotten():
    settling = Settling()
    now = _write(settling, SAME_VALUE, value=lambda _turn: 3)
    settling.forget("uid")
    assert settling.resting("uid", 1, now) is None


@pytest.mark.parametrize(("every", "flaps"), [(1.0, True), (15.0, False)])
def test_a_child_that_is_gone_again_each_time_it_is_made_is_left_alone_for_a_while(every, flaps):
    settling = Settling()
    for turn in range(SAME_VALUE):
        settling.made("uid", 1, "Secret note", turn * every)
    resting = settling.resting("uid", 1, (SAME_VALUE - 1) * every)
    assert (resting is not None and "Secret note was made" in resting.sentence) is flaps
