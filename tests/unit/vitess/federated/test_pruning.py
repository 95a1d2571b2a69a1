"""Records of topology go when it is proven that nobody has, serves or wants them, and never on ignorance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hanse.vitess.federated.picture import Picture, ShardRecord, TabletRecord
from hanse.vitess.federated.pruning import Evidence, judge
from hanse.vitess.federated.reading import ShardId
from tests.unit.vitess.federated.shop import CELLS, shop

_OLD = ShardId("orders", "-")
_LEFT, _RIGHT = ShardId("orders", "-80"), ShardId("orders", "80-")
_GONE = ShardId("audit", "-")
_PICTURE = Picture(
    cells=frozenset({*CELLS, "mars1a"}),
    keyspaces=frozenset({"orders", "audit"}),
    shards={each: ShardRecord() for each in (_OLD, _LEFT, _RIGHT, _GONE)},
    serving={"useast1a": {"orders": frozenset({"-80", "80-"})}},
)
_FINE = Evidence(reachable=True, current=True, cells=frozenset(CELLS), keyspaces=frozenset({"orders"}))
_MEMBERS = {"east": _FINE, "west": _FINE}


def _tablet(shard: ShardId, cell: str = "useast1a") -> Picture:
    return replace(_PICTURE, tablets={"t-1": TabletRecord("t-1", cell, shard)})


def test_what_is_proven_to_be_unused_goes_shards_before_keyspaces_before_cells():
    verdict = judge(shop()["spec"], _PICTURE, _MEMBERS)
    assert [(each.kind.name, each.name) for each in verdict.prune] == [
        ("SHARD", "orders/-"),
        ("KEYSPACE", "audit"),
        ("CELL", "mars1a"),
    ]
    assert verdict.blocked == ()


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (replace(_FINE, reachable=False), "west cannot be asked"),
        (replace(_FINE, current=False), "west has yet to take in the present specification"),
    ],
)
def test_a_member_that_has_not_answered_blocks_all_of_it(evidence: Evidence, words: str):
    verdict = judge(shop()["spec"], _PICTURE, {"east": _FINE, "west": evidence})
    assert verdict.prune == ()
    assert [words in each for each in verdict.blocked] == [True, True, True]


def test_a_member_that_a_person_has_written_off_blocks_nothing():
    members = {"east": _FINE, "west": Evidence()}
    assert len(judge(shop()["spec"], _PICTURE, members, written_off=["west"]).prune) == 3


def test_without_any_member_nothing_is_proven():
    assert judge(shop()["spec"], _PICTURE, {}).prune == ()
    assert judge(shop()["spec"], _PICTURE, {"west": Evidence()}, written_off=["west"]).prune == ()


@pytest.mark.parametrize(
    ("evidence", "name"),
    [
        (replace(_FINE, shards=frozenset({_OLD})), "orders/-"),
        (replace(_FINE, keyspaces=frozenset({"audit"})), "audit"),
        (replace(_FINE, cells=frozenset({"mars1a"})), "mars1a"),
    ],
)
def test_what_a_member_still_has_or_lists_as_orphaned_stays(evidence: Evidence, name: str):
    verdict = judge(shop()["spec"], _PICTURE, {"east": _FINE, "west": evidence})
    assert name not in {each.name for each in verdict.prune}
    assert len(verdict.prune) == 2
    assert "west still has it" in verdict.blocked[0]


@pytest.mark.parametrize(
    ("picture", "name"),
    [
        (_tablet(_OLD), "orders/-"),
        (_tablet(_GONE), "audit"),
        (_tablet(_LEFT, "mars1a"), "mars1a"),
        (replace(_PICTURE, serving={"uswest2a": {"orders": frozenset({"-"})}}), "orders/-"),
        (replace(_PICTURE, serving={"uswest2a": {"audit": frozenset({"-"})}}), "audit"),
        (replace(_PICTURE, serving={"mars1a": {"orders": frozenset({"-80"})}}), "mars1a"),
    ],
)
def test_what_a_tablet_or_a_gateway_refers_to_stays(picture: Picture, name: str):
    verdict = judge(shop()["spec"], picture, _MEMBERS)
    assert name not in {each.name for each in verdict.prune}
    assert len(verdict.blocked) == 1


def test_a_cell_whose_lockserver_does_not_answer_blocks_what_may_be_in_it():
    verdict = judge(shop()["spec"], replace(_PICTURE, unread=frozenset({"uswest2c"})), _MEMBERS)
    assert [each.name for each in verdict.prune] == ["mars1a"], "of that one all is known"


def test_what_the_specification_has_is_never_pruned():
    names = {each.name for each in judge(shop()["spec"], _PICTURE, _MEMBERS).prune}
    assert not names & {"orders", "orders/-80", "orders/80-", *CELLS}


@pytest.mark.parametrize(("switch", "left"), [("pruneShards", 2), ("pruneKeyspaces", 2), ("pruneCells", 2)])
def test_each_kind_can_be_switched_off(switch: str, left: int):
    verdict = judge(shop(topologyReconciliation={switch: False})["spec"], _PICTURE, _MEMBERS)
    assert (len(verdict.prune), verdict.blocked) == (left, ())


_HOMES = {"useast1a": "east", "uswest2a": "west"}


@pytest.mark.parametrize(
    ("west", "leftover"),
    [
        (_FINE, True),
        (replace(_FINE, tablets=frozenset({"t-1"})), False),
        (replace(_FINE, reachable=False), False),
    ],
    ids=["no pod of it", "its pod is there", "not heard of"],
)
def test_the_record_of_a_tablet_that_surely_does_not_run_keeps_nothing(west: Evidence, leftover: bool):
    picture = replace(_PICTURE, tablets={"t-1": TabletRecord("t-1", "uswest2a", _GONE, "PRIMARY")})
    verdict = judge(shop()["spec"], picture, {"east": _FINE, "west": west}, homes=_HOMES)
    assert ("audit" in {each.name for each in verdict.prune}) == leftover


def test_tablets_of_a_member_that_is_written_off_do_not_run():
    picture = replace(_PICTURE, tablets={"t-1": TabletRecord("t-1", "uswest2a", _GONE)})
    verdict = judge(shop()["spec"], picture, {"east": _FINE}, homes=_HOMES, written_off=["west"])
    assert "audit" in {each.name for each in verdict.prune}
