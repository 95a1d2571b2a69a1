"""Drain tokens in the shared lockserver: one member has a shard's, and decides itself for which of its tablets."""

from __future__ import annotations

import orjson
import pytest

from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import TabletAlias
from hanse.kube.runtime import SeededRuntime
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.token_store import TokenStore, token_path
from hanse.vitess.federated.tokens import Token
from hanse.vitess.federated.turns import SharedTurns
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from hanse.vitess.topology.store import BadRecord

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


async def test_a_second_drain_of_the_same_tablet_is_not_ended_by_who_saw_the_end_of_the_first():
    tokens = _store()
    assert await tokens.take(_SHARD, _FIRST)
    _, seen = await tokens.find(_SHARD)
    assert await tokens.take(_SHARD, Token("e-1", "east", 5.0))
    await tokens.remove(_SHARD, seen)
    assert await tokens.read(_SHARD) == _FIRST, "it is held as long as before"


@pytest.mark.parametrize("whose", [{"alias": "e-1", "member": ""}, {"alias": "", "member": "east"}, {"alias": "e-1"}])
async def test_a_token_that_does_not_say_whose_it_is_is_nobodys_and_blocks_all(whose):
    tokens = _store()
    store = await tokens._topology.store("global")
    await store.create(token_path(_SHARD), orjson.dumps({"since": 1.0, **whose}))
    with pytest.raises(BadRecord, match="remove it once nothing is drained"):
        await tokens.take(_SHARD, _FIRST)


async def test_an_operator_that_does_not_know_its_name_in_the_federation_takes_no_turn():
    stores = MemoryStores({"etcd": MemoryLockserver(SeededRuntime())})
    topology = Topology(stores, LockserverParams("etcd2", "etcd", "/vitess/shop/global"))
    with pytest.raises(BadRecord, match="what the federation calls this cluster is not known"):
        await SharedTurns(topology, _SHARD, "", SeededRuntime()).take(TabletAlias("e", 1))
    assert await TokenStore(topology).read(_SHARD) is None
