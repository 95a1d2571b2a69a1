"""Exactly one member begins each shard, and remains the one."""

from __future__ import annotations

from hanse.vitess.federated.homes import Site
from hanse.vitess.federated.initializers import choose_initializers
from hanse.vitess.federated.picture import Picture, ShardRecord
from hanse.vitess.federated.reading import ShardId, all_shards
from tests.unit.vitess.federated.shop import keyspace, plan_of, pool, shop

_LEFT, _RIGHT = ShardId("orders", "-80"), ShardId("orders", "80-")
_EAST_LOST = (Site("east", lost=True), Site("west"))
_BOTH_LOST = (Site("east", lost=True), Site("west", lost=True))


def _picture(left: str = "", right: str = "") -> Picture:
    return Picture(shards={_LEFT: ShardRecord(left), _RIGHT: ShardRecord(right)})


def test_the_first_member_with_a_replica_pool_begins():
    assert plan_of(shop()).initializers == {_LEFT: "east", _RIGHT: "east"}


def test_a_shard_with_pools_in_one_member_is_begun_there():
    source = shop(keyspaces=[keyspace("orders", [pool("useast1a", "rdonly"), pool("uswest2a")])])
    assert set(plan_of(source).initializers.values()) == {"west"}


def test_the_preferred_cluster_begins():
    source = shop(federation={"initializer": {"clusters": ["west"]}})
    assert set(plan_of(source).initializers.values()) == {"west"}


def test_the_choice_stays_when_pools_or_preferences_change():
    before = plan_of(shop())
    source = shop(
        keyspaces=[keyspace("orders", [pool("uswest2a"), pool("useast1a")])],
        federation={"initializer": {"clusters": ["west"]}},
    )
    assert plan_of(source, before).initializers == before.initializers


def test_a_lost_cluster_that_never_made_a_primary_is_replaced_once_and_does_not_get_it_back():
    before = plan_of(shop())
    moved = plan_of(shop(), before, sites=_EAST_LOST, picture=_picture())
    assert set(moved.initializers.values()) == {"west"}
    back = plan_of(shop(), moved, picture=_picture())
    assert back.initializers == moved.initializers


def test_a_shard_that_has_a_primary_stays_with_whoever_began_it():
    before = plan_of(shop())
    after = plan_of(shop(), before, sites=_EAST_LOST, picture=_picture(left="useast1a-2244051001"))
    assert after.initializers == {_LEFT: "east", _RIGHT: "west"}


def test_nothing_moves_while_topology_cannot_be_read():
    before = plan_of(shop())
    assert plan_of(shop(), before, sites=_EAST_LOST, picture=None).initializers == before.initializers


def test_nothing_moves_where_nobody_is_left_to_take_over():
    before = plan_of(shop())
    assert plan_of(shop(), before, sites=_BOTH_LOST, picture=_picture()).initializers == before.initializers


def test_a_member_that_gave_up_its_pools_gives_up_the_shard():
    before = plan_of(shop())
    source = shop(keyspaces=[keyspace("orders", [pool("uswest2a")])])
    assert set(plan_of(source, before).initializers.values()) == {"west"}


def test_pools_of_no_tablets_begin_nothing():
    source = shop(keyspaces=[keyspace("orders", [pool("useast1a", replicas=0), pool("uswest2a", replicas=0)])])
    homes = {"useast1a": "east", "uswest2a": "west"}
    assert choose_initializers(all_shards(source["spec"]), homes, {}) == {}
