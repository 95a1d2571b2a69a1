"""Tokens are handed on by what was seen of tablets, and never a token that was taken after that."""

from __future__ import annotations

import pytest

from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import TabletAlias
from hanse.kube.runtime import SeededRuntime
from hanse.vitess.federated.draining import Drains
from hanse.vitess.federated.evacuation import ShardSight
from hanse.vitess.federated.reading import ShardId, all_shards
from hanse.vitess.federated.token_store import TokenStore
from hanse.vitess.federated.tokens import TabletSight, Token
from hanse.vitess.federated.turns import SharedTurns
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from hanse.vitess.topology.picture import read_picture
from hanse.vitess.topology.store import Version
from tests.unit.vitess.federated.shop import shop

pytestmark = pytest.mark.looptime

_SHARD = all_shards(shop()["spec"])[0]
_EAST, _EAST2, _WEST, _RDONLY = (identity.alias for identity in _SHARD.identities())
_MEMBERS = ("east", "west")


def _topology() -> Topology:
    stores = MemoryStores({"etcd": MemoryLockserver(SeededRuntime())})
    return Topology(stores, LockserverParams("etcd2", "etcd", "/vitess/shop/global"))


def _sight(*draining: str) -> ShardSight:
    """See every tablet of the shard available."""
    tablets = [
        TabletSight(alias, "east" if alias in (_EAST, _EAST2) else "west", "", ready_for=60.0, drain=alias in draining)
        for alias in (_EAST, _EAST2, _WEST, _RDONLY)
    ]
    return ShardSight(_SHARD.id, _EAST, tuple(tablets))


async def _served(topology: Topology, sight: ShardSight, seen: dict[ShardId, Version]) -> Token | None:
    drains = Drains(TokenStore(topology), None, seen)
    await drains.serve([_SHARD], {_SHARD.id: sight}, heard=_MEMBERS, now=100.0)
    return await TokenStore(topology).read(_SHARD.id)


async def _seen(topology: Topology) -> dict[ShardId, Version]:
    return {ShardId(*name): version for name, version in (await read_picture(topology)).tokens.items()}


async def test_a_token_of_a_drain_that_began_after_the_tablets_were_seen_is_left_alone():
    topology = _topology()
    tokens, seen, sight = TokenStore(topology), await _seen(topology), _sight()
    assert await tokens.take(_SHARD.id, Token(_WEST, "west", 99.0))
    assert await _served(topology, sight, seen) == Token(_WEST, "west", 99.0)
    assert not await tokens.take(_SHARD.id, Token(_EAST2, "east", 100.0)), "nobody else drains meanwhile"


async def test_a_token_whose_drain_is_over_is_handed_on():
    topology = _topology()
    await TokenStore(topology).take(_SHARD.id, Token(_WEST, "west", 9.0))
    assert await _served(topology, _sight(_EAST2), await _seen(topology)) == Token(_EAST2, "east", 100.0)


async def test_a_member_ends_its_turn_by_itself_when_the_tablet_is_gone_for_good():
    topology, runtime = _topology(), SeededRuntime()
    west = SharedTurns(topology, _SHARD.id, "west", runtime)
    east = SharedTurns(topology, _SHARD.id, "east", runtime)
    gone = TabletAlias.parse(_WEST)
    assert await west.take(gone)
    await west.end([gone])
    await east.end([])
    assert not await east.take(TabletAlias.parse(_EAST2)), "it is drained still, and it is not east's to end"
    await west.end([])
    assert await east.take(TabletAlias.parse(_EAST2))
