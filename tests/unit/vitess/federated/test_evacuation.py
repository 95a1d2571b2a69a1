"""A whole member is left: primaries first, tablets then, and nothing that the shard could not spare."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hanse.vitess.federated.evacuation import ShardSight, evacuate
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.tokens import Reparent, TabletSight

_LEFT, _RIGHT = ShardId("orders", "-80"), ShardId("orders", "80-")


def _tablet(alias: str, member: str, kind: str = "REPLICA") -> TabletSight:
    return TabletSight(alias, member, member, kind, ready_for=60, lag=0, position=1)


def _shard(shard: ShardId, primary: str, *tablets: TabletSight) -> ShardSight:
    return ShardSight(shard, primary, tablets)


_A = _shard(_LEFT, "e-1", _tablet("e-1", "east", "PRIMARY"), _tablet("w-1", "west"))
_B = _shard(_RIGHT, "w-2", _tablet("e-2", "east"), _tablet("w-2", "west", "PRIMARY"))


def test_primaries_move_before_anything_is_drained():
    found = evacuate("east", [_A, _B])
    assert found.reparents == {_LEFT: Reparent("e-1", "w-1", "west")}
    assert found.drains == ()


def test_tablets_are_drained_once_every_primary_is_elsewhere():
    moved = _shard(_LEFT, "w-1", _tablet("e-1", "east"), _tablet("w-1", "west", "PRIMARY"))
    found = evacuate("east", [moved, _B])
    assert (found.reparents, found.drains, found.blocked) == ({}, ("e-1", "e-2"), ())


def test_a_primary_that_nobody_can_replace_stays():
    alone = _shard(_LEFT, "e-1", _tablet("e-1", "east", "PRIMARY"), _tablet("w-1", "west", "RDONLY"))
    found = evacuate("east", [alone])
    assert (found.reparents, found.drains) == ({}, ())
    assert "nobody in another cluster can take over from e-1 yet" in found.blocked[0]


def test_replicas_stay_while_the_primary_elsewhere_is_not_well():
    sick = _shard(_LEFT, "w-1", _tablet("e-1", "east"), replace(_tablet("w-1", "west", "PRIMARY"), ready_for=0))
    found = evacuate("east", [sick])
    assert found.drains == ()
    assert "nobody outside east could be its primary" in found.blocked[0]


def test_a_shard_without_a_primary_is_repaired_first():
    found = evacuate("east", [_shard(_LEFT, "", _tablet("e-1", "east"), _tablet("w-1", "west"))])
    assert found.blocked == ("orders/-80 has no primary; repair it first",)


def test_it_is_done_when_nothing_is_there():
    assert evacuate("south", [_A, _B]).done
    drained = _shard(_LEFT, "w-1", replace(_tablet("e-1", "east"), drain=True), _tablet("w-1", "west", "PRIMARY"))
    assert evacuate("east", [drained]).done


@pytest.mark.parametrize(
    ("heir", "why"),
    [
        (replace(_tablet("w-1", "west"), ready_for=12), "w-1 has to be available for 30 s first"),
        (replace(_tablet("w-1", "west"), lag=None), "w-1 does not tell how far behind it is"),
        (replace(_tablet("w-1", "west"), lag=16), "w-1 is more than 15 s behind"),
        (replace(_tablet("w-1", "west"), drain=True), "w-1 is drained itself"),
        (_tablet("w-1", "west", "RDONLY"), "no other cluster has a replica of it"),
    ],
)
def test_what_keeps_the_nearest_tablet_from_taking_over_is_said(heir: TabletSight, why: str):
    found = evacuate("east", [_shard(_LEFT, "e-1", _tablet("e-1", "east", "PRIMARY"), heir)])
    assert found.blocked == (f"orders/-80: nobody in another cluster can take over from e-1 yet: {why}",)
