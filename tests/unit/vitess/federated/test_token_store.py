"""Drain tokens in the shared lockserver: one member has a shard's, and decides itself for which of its tablets."""

from __future__ import annotations

import pytest

from hanse.api.planetscale.values import LockserverParams
from hanse.kube.runtime import SeededRuntime
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.token_store import TokenStore
from hanse.vitess.federated.tokens import Token
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores

pytestmark = pytest.mark.looptime

_SHARD = ShardId("orders", "-80")
_FIRST, _SECOND, _WEST = Token("e-1", "east", 1.0), Token("e-2", "east", 2.0), Token("w-1", "west", 3.0)


def _store() -> TokenStore:
    stores = MemoryStores({"etcd": MemoryLockserver(SeededRuntime())})
    return TokenStore(Topology(stores, LockserverParams("etcd2", "etcd", "/vitess/shop/global")))


async def test_another_member_waits_until_it_is_given_back():
    tokens = _store()
    assert await tokens.take(_SHARD, _FIRST)
    assert await tokens.take(_SHARD, _FIRST), "it has it already"
    assert not await tokens.take(_SHARD, _WEST)
    await tokens.give_back(_SHARD, _FIRST)
    assert await tokens.read(_SHARD) is None
    assert await tokens.take(_SHARD, _WEST)


async def test_the_member_that_has_it_may_take_it_for_another_of_its_tablets():
    tokens = _store()
    assert await tokens.take(_SHARD, _FIRST)
    assert await tokens.take(_SHARD, _SECOND)
    assert await tokens.read(_SHARD) == _SECOND


async def test_nobody_gives_back_what_another_has():
    tokens = _store()
    await tokens.take(_SHARD, _FIRST)
    await tokens.give_back(_SHARD, _WEST)
    assert await tokens.read(_SHARD) == _FIRST


async def test_shards_have_tokens_of_their_own():
    tokens = _store()
    assert await tokens.take(_SHARD, _FIRST)
    assert await tokens.take(ShardId("orders", "80-"), _WEST)
