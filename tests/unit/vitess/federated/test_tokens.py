"""One drain of a shard at a time over all members, and a primary that finds a successor in another cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hanse.vitess.federated.tokens import (
    Reparent,
    TabletSight,
    Token,
    best_candidate,
    is_whole,
    next_token,
    reparent_for_drain,
)

_EAST_1 = TabletSight("useast1a-2244051001", "east", "useast1a", "PRIMARY", ready_for=99, lag=0, position=100)
_EAST_2 = TabletSight("useast1a-1362584625", "east", "useast1a", ready_for=99, lag=1, position=99)
_WEST = TabletSight("uswest2a-0394942161", "west", "uswest2a", ready_for=99, lag=2, position=98)
_RDONLY = TabletSight("uswest2b-2088132781", "west", "uswest2b", "RDONLY", ready_for=99, lag=0, position=100)
_SHARD = (_EAST_1, _EAST_2, _WEST, _RDONLY)
_BOTH = ("east", "west")


def _draining(*which: TabletSight) -> list[TabletSight]:
    return [replace(each, drain=each in which) for each in _SHARD]


def test_drains_in_two_clusters_are_served_one_after_the_other():
    tablets = _draining(_EAST_2, _WEST)
    first = next_token(None, tablets, heard=_BOTH, whole=True, now=5)
    assert first == Token(_EAST_2.alias, "east", 5)
    assert next_token(first, tablets, heard=_BOTH, whole=False, now=6) == first, "it keeps its turn"
    done = [each for each in tablets if each.alias != _EAST_2.alias]
    assert next_token(first, done, heard=_BOTH, whole=False, now=7) == first, "its pod has yet to come back"
    again = [replace(each, drain=each == _WEST) for each in _SHARD]
    assert next_token(first, again, heard=_BOTH, whole=True, now=8) == Token(_WEST.alias, "west", 8)


def test_the_primary_comes_last_and_lets_those_go_first_without_whom_nobody_could_take_over():
    tablets = _draining(_EAST_1, _EAST_2, _WEST)
    assert next_token(None, tablets, heard=_BOTH, whole=True, now=1, primary=_EAST_1.alias) == Token(
        _WEST.alias, "west", 1
    )
    held = Token(_EAST_1.alias, "east")
    passed = next_token(held, tablets, heard=_BOTH, whole=True, now=2, primary=_EAST_1.alias)
    assert passed == Token(_WEST.alias, "west", 2), "where the primary is, its operator may insist on it"
    drained = [replace(each, finished=each.alias == _EAST_1.alias) for each in tablets]
    assert next_token(held, drained, heard=_BOTH, whole=True, now=2, primary=_EAST_1.alias) == held
    spared = _draining(_EAST_1, _WEST)
    assert next_token(held, spared, heard=_BOTH, whole=True, now=2, primary=_EAST_1.alias) == held


def test_a_drain_in_a_member_that_is_not_heard_of_keeps_its_turn():
    token = Token(_WEST.alias, "west")
    assert next_token(token, _draining(_EAST_2), heard=("east",), whole=True, now=1) == token


def test_an_abandoned_drain_gives_its_turn_back():
    token = Token(_WEST.alias, "west")
    assert next_token(token, _draining(), heard=_BOTH, whole=True, now=1) is None


@pytest.mark.parametrize(
    ("tablets", "heard", "whole"),
    [
        (_SHARD, _BOTH, True),
        (_SHARD[:3], _BOTH, False),
        ((*_SHARD[:3], replace(_RDONLY, ready_for=10)), _BOTH, False),
        (_SHARD, ("east",), False),
    ],
    ids=["all there", "one missing", "one new", "a member not heard of"],
)
def test_a_shard_is_whole_when_every_tablet_of_every_member_is_available(
    tablets: tuple[TabletSight, ...], heard: tuple[str, ...], whole: bool
):
    assert is_whole(tablets, [each.alias for each in _SHARD], heard) == whole


@pytest.mark.parametrize(
    "unfit",
    [
        {"type": "RDONLY"},
        {"ready_for": 29.0},
        {"drain": True},
        {"finished": True},
        {"lag": 15.1},
        {"lag": None},
    ],
)
def test_only_healthy_replicas_that_keep_up_become_primary(unfit: dict[str, object]):
    assert best_candidate([_EAST_1, replace(_WEST, **unfit)], _EAST_1.alias) is None  # type: ignore[arg-type]
    assert best_candidate([_EAST_1, _WEST], _EAST_1.alias) == _WEST


def test_the_preferred_cells_come_before_the_highest_position():
    assert best_candidate(_SHARD, _EAST_1.alias) == _EAST_2
    assert best_candidate(_SHARD, _EAST_1.alias, preferred_cells=["uswest2a"]) == _WEST
    assert best_candidate(_SHARD, _EAST_1.alias, excluded=["east"]) == _WEST


def test_a_primary_with_a_sibling_in_its_cluster_is_left_to_its_own_operator():
    token = Token(_EAST_1.alias, "east")
    assert reparent_for_drain(token, _EAST_1.alias, _draining(_EAST_1)) == ""


def test_a_primary_without_one_hands_over_to_a_replica_of_another_cluster_never_to_an_rdonly():
    token = Token(_EAST_1.alias, "east")
    found = reparent_for_drain(token, _EAST_1.alias, _draining(_EAST_1, _EAST_2))
    assert found == Reparent(_EAST_1.alias, "uswest2a-0394942161", "west")


def test_without_any_candidate_it_stays_and_says_so():
    token = Token(_EAST_1.alias, "east")
    found = reparent_for_drain(token, _EAST_1.alias, _draining(_EAST_1, _EAST_2, _WEST))
    assert isinstance(found, str)
    assert "no other tablet of the shard can take over" in found


def test_who_has_no_turn_is_not_reparented():
    tablets = _draining(_EAST_1, _EAST_2)
    assert reparent_for_drain(None, _EAST_1.alias, tablets) == ""
    assert reparent_for_drain(Token(_EAST_2.alias, "east"), _EAST_1.alias, tablets) == ""
