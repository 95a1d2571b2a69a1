"""Drains of a shard's tablets (checklist 59 to 65)."""

import itertools

import pytest

from hanse.api.vitess_records.topology import TabletAlias
from hanse.vitess.tablets.draining import DrainState, DrainTablet, plan_drains

ACK, FIN, NOT = DrainState.ACKNOWLEDGED, DrainState.FINISHED, DrainState.NOT_DRAINING
MARKS = {"s": "started", "a": "acknowledged", "f": "finished"}


def alias(uid):
    return TabletAlias("zone1", uid)


def tablets(*marks, **more):
    """Return tablets 1, 2, 3 …, of each the annotations by their first letters."""
    return [
        DrainTablet(alias(uid), **{MARKS[mark]: True for mark in given}, **more)
        for uid, given in enumerate(marks, start=1)
    ]


@pytest.mark.parametrize(
    ("marks", "primary", "states", "replaces"),
    [
        # Nothing to do.
        (["", "", ""], 1, {}, False),
        # On a replica: acknowledged, in the next pass finished.
        (["", "s", ""], 1, {2: ACK}, False),
        (["", "sa", ""], 1, {2: FIN}, False),
        (["", "saf", ""], 1, {}, False),
        # On two: both acknowledged, only the lower alias finished, the other after the first is gone.
        (["", "s", "s"], 1, {2: ACK, 3: ACK}, False),
        (["", "sa", "sa"], 1, {2: FIN}, False),
        (["", "saf", "sa"], 1, {}, False),
        (["", "sa", "s"], 1, {3: ACK}, False),
        # On the primary: another becomes primary, and it is finished in a later pass.
        (["s", "", ""], 1, {1: ACK}, False),
        (["sa", "", ""], 1, {}, True),
        (["sa", "", ""], 2, {1: FIN}, False),
        (["sa", "sa", ""], 2, {1: FIN}, False),
        # One that is finished and became primary again stays finished, and is replaced.
        (["saf", "", ""], 1, {}, True),
        (["saf", "s", ""], 1, {2: ACK}, True),
        # Who wanted it drained no longer does: both answers are taken back, and nothing else happens in that pass.
        (["", "a", "sa"], 1, {2: NOT}, False),
        (["", "af", "s"], 1, {2: NOT}, False),
    ],
)
def test_a_drain_goes_on_by_one_step(marks, primary, states, replaces):
    planned = plan_drains(tablets(*marks), alias(primary))
    assert planned.states == {alias(uid): state for uid, state in states.items()}
    assert planned.replace_primary is replaces


def test_what_is_finished_and_was_never_acknowledged_is_an_error():
    planned = plan_drains(tablets("", "sf", "sa"), alias(1))
    assert planned.states == {}
    assert [told.reason for told in planned.told] == ["InvalidDrainState"]
    assert "zone1-0000000002 is finished and was never acknowledged" in planned.told[0].message


@pytest.mark.parametrize("marks", [["s", "", ""], ["sa", "", ""], ["", "sa", "s"]])
def test_no_step_is_taken_while_a_tablet_is_not_available(marks):
    unavailable = [*tablets(*marks[:2]), *tablets(marks[2], available=False)]
    planned = plan_drains(unavailable, alias(1))
    assert (planned.states, planned.replace_primary) == ({}, False)
    assert [told.reason for told in planned.told] == ["NotReconcilingDrain"]


def test_a_tablet_that_nobody_wants_need_not_be_available():
    leaving = DrainTablet(alias(9), available=False, desired=False, started=True)
    assert plan_drains([*tablets("", ""), leaving], alias(1)).states == {alias(9): ACK}


def test_nothing_is_drained_while_the_shard_has_no_primary():
    assert plan_drains(tablets("sa", ""), None).states == {}


def test_a_mysql_that_is_to_be_replaced_by_another_version_is_told_to_stop_slowly_before_it_is_finished():
    [first, second] = tablets("", "sa")
    slow = DrainTablet(second.alias, started=True, acknowledged=True, slow_shutdown=True)
    assert plan_drains([first, slow], alias(1)).slow_shutdown == (alias(2),)
    assert plan_drains([first, second], alias(1)).slow_shutdown == ()


def test_whatever_is_annotated_at_most_one_is_finished_by_the_operator_and_never_the_primary():
    texts = ["", "s", "sa", "saf", "a"]
    for marks in itertools.product(texts, repeat=3):
        before = tablets(*marks)
        finished = {each.alias for each in before if each.state is FIN}
        planned = plan_drains(before, alias(2))
        new = {each for each, state in planned.states.items() if state is FIN}
        assert alias(2) not in new
        assert not new or (len(new) == 1 and not finished)
