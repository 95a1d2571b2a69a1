"""A whole member is left: primaries first, tablets then, and nothing that the shard could not spare."""

from __future__ import annotations

from dataclasses import replace

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
    assert "no tablet of another cluster can become primary in place of e-1" in found.blocked[0]


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
