"""The twelve ways in which operators that know only a part of a Vitess hurt the whole, and what keeps them from it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import CellInfo, Shard, Tablet, TabletAlias, TabletType, Time
from hanse.kube.manifest import dig
from hanse.kube.runtime import SeededRuntime
from hanse.vitess.federated.aliases import DEFAULT_ALIAS, alias_changes, wanted_aliases
from hanse.vitess.federated.homes import Site
from hanse.vitess.federated.picture import Picture, ShardRecord
from hanse.vitess.federated.preflight import advice
from hanse.vitess.federated.pruning import Evidence, judge
from hanse.vitess.federated.reading import ShardId
from hanse.vitess.federated.refusing import refusals
from hanse.vitess.federated.reparenting import ReparentFailed
from hanse.vitess.federated.splitting import split
from hanse.vitess.federated.spoken_tablets import SpokenTablets
from hanse.vitess.federated.tokens import Reparent, TabletSight, Token, next_token
from hanse.vitess.naming import global_lockserver_name
from hanse.vitess.tablets.vtctld import Vtctld
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from tests.unit.vitess.federated.shop import CELLS, SITES, keyspace, plan_of, planned, pool, shop

_LEFT = ShardId("orders", "-80")
_PEERS = [{"cluster": name, "peerURL": f"https://{name}.example:2380"} for name in ("east", "west", "south")]


def test_1_no_member_prunes_a_keyspace_that_only_another_has():
    source = shop(topologyReconciliation={"pruneKeyspaces": True})
    source["spec"]["keyspaces"].append(keyspace("audit", [pool("useast1a")]))
    for part in split(source, plan_of(source)).values():
        assert part["spec"]["topologyReconciliation"]["pruneKeyspaces"] is False


def test_2_no_member_writes_the_alias_and_the_union_is_written_once():
    source = shop()
    for part in split(source, plan_of(source)).values():
        assert part["spec"]["topologyReconciliation"]["registerCellsAliases"] is False
    wanted = wanted_aliases(source["spec"], plan_of(source).homes)
    assert wanted == {DEFAULT_ALIAS: tuple(sorted(CELLS))}
    assert alias_changes(wanted, wanted) == []


def test_3_gateways_see_primaries_of_other_members():
    source = shop()
    for part in split(source, plan_of(source)).values():
        assert {cell["gateway"]["extraFlags"]["cells_to_watch"] for cell in part["spec"]["cells"]} == {",".join(CELLS)}


def test_4_a_cell_that_does_not_answer_stops_pruning_and_moves_no_beginning():
    picture = Picture(
        keyspaces=frozenset({"gone"}),
        shards={_LEFT: ShardRecord("useast1a-2244051001")},
        unread=frozenset({"uswest2a"}),
    )
    fine = Evidence(reachable=True, current=True)
    assert judge(shop()["spec"], picture, {"east": fine, "west": fine}).prune == ()
    before = plan_of(shop())
    lost = (Site("east", lost=True), Site("west"))
    assert plan_of(shop(), before, sites=lost, picture=picture).initializers[_LEFT] == "east"


def test_5_a_shard_over_clusters_without_backups_is_told_what_it_waits_for():
    source, homes = shop(), plan_of(shop()).homes
    assert "begin when the tablets of all of them are up" in str(advice(source["spec"], homes)[0])
    source["spec"]["backup"] = {"locations": [{"volume": {}}]}
    assert advice(source["spec"], homes) == []


def test_6_a_pool_whose_backup_location_nobody_seeds_is_refused():
    source = shop(backup={"locations": [{"name": "a"}, {"name": "b"}]})
    pools = [pool("useast1a", backupLocationName="a"), pool("uswest2a", backupLocationName="b")]
    source["spec"]["keyspaces"] = [keyspace("orders", pools)]
    assert any("for ever" in each.message for each in refusals(source, SITES))


def test_7_two_members_do_not_finish_drains_of_one_shard_at_once():
    tablets = [
        TabletSight(f"{cell}-0000000001", member, cell, ready_for=99, lag=0, drain=True)
        for cell, member in (("useast1a", "east"), ("uswest2a", "west"))
    ]
    first = next_token(None, tablets, heard=("east", "west"), whole=True, now=0)
    assert first == Token("useast1a-0000000001", "east", 0)
    assert next_token(first, tablets, heard=("east", "west"), whole=True, now=9) == first
    assert next_token(first, tablets[1:], heard=("west",), whole=True, now=9) == first


def test_8_members_of_one_etcd_have_equal_names_no_budget_and_an_address_for_everybody():
    lockserver = {"clientAddress": "etcd.example:2379", "members": _PEERS}
    source = shop(globalLockserver={"etcd": {"createPDB": True}}, federation={"lockserver": lockserver})
    parts = split(source, plan_of(source, sites=(*SITES, Site("south"))))
    assert {global_lockserver_name(part["metadata"]["name"]) for part in parts.values()} == {
        global_lockserver_name("shop")
    }
    for part in parts.values():
        assert dig(part, "spec", "globalLockserver", "etcd", "createPDB") is False
        assert part["spec"]["globalLockserver"]["cellInfoAddress"] == "etcd.example:2379"


def test_9_all_members_have_one_root_path():
    roots = {
        dig(part, "spec", "globalLockserver", "external", "rootPath")
        for part in split(shop(), plan_of(shop())).values()
    }
    assert roots == {"/vitess/shop/global"}
    assert {part["metadata"]["name"] for part in split(shop(), plan_of(shop())).values()} == {"shop"}


def test_10_cross_cell_without_another_cell_is_told():
    source = shop(backup={"locations": [{}]})
    source["spec"]["keyspaces"] = [keyspace("orders", [pool("useast1a", replicas=3)], durabilityPolicy="cross_cell")]
    found = advice(source["spec"], plan_of(source).homes)
    assert "cross_cell asks for one in another cell" in str(found[0])
    assert not found[0].wrong


class _Asked:
    """A vtctld that keeps what it was asked."""

    def __init__(self) -> None:
        self.questions: list[Any] = []

    async def ask(self, tablet: Any, method: Any, question: Any, timeout: float) -> Any:
        raise AssertionError("no tablet is asked to become primary behind vtctld's back")

    async def ask_vtctld(self, address: str, method: Any, question: Any, timeout: float) -> Any:
        self.questions.append(question)
        return method.answer()


def test_11_a_primary_is_changed_by_vtctld_under_the_shards_lock_and_only_from_the_expected_one():
    asked = _Asked()
    stores = MemoryStores({"etcd": MemoryLockserver(SeededRuntime())})
    topology = Topology(stores, LockserverParams("etcd2", "etcd", "/vitess/shop/global"))
    tablets = SpokenTablets(topology, asked, Vtctld(asked, "vtctld.example:15999"))
    change = Reparent("useast1a-2244051001", "uswest2a-0394942161", "west")
    asyncio.run(tablets.reparent(_LEFT, change))
    (question,) = asked.questions
    assert (question.keyspace, question.shard) == ("orders", "-80")
    assert question.expected_primary == TabletAlias("useast1a", 2244051001)
    assert question.new_primary == TabletAlias("uswest2a", 394942161)


@pytest.mark.parametrize("locked", [True, False])
def test_11_no_primary_is_changed_while_another_change_may_be_under_way(locked):
    asked = _Asked()
    stores = MemoryStores({"etcd": MemoryLockserver(SeededRuntime())})
    topology = Topology(stores, LockserverParams("etcd2", "etcd", "/vitess/shop/global"))
    tablets = SpokenTablets(topology, asked, Vtctld(asked, "vtctld.example:15999"))
    first, second, third = (TabletAlias("c", uid) for uid in (1, 2, 3))
    change = Reparent(str(first), str(third), "west")

    async def scene() -> None:
        await topology.create(paths.cell_info("c"), CellInfo("etcd", "/vitess/shop/local/c"))
        named = Shard(first, primary_term_start_time=Time(10))
        await topology.create(paths.shard(_LEFT.keyspace, _LEFT.shard), named)
        if locked:
            async with await topology.lock(paths.shard_directory(_LEFT.keyspace, _LEFT.shard), "PlannedReparentShard"):
                await tablets.reparent(_LEFT, change)
        claims = Tablet(second, keyspace="orders", shard="-80", type=TabletType.PRIMARY)
        await topology.create(paths.tablet(second), replace(claims, primary_term_start_time=Time(20)))
        await tablets.reparent(_LEFT, change)

    with pytest.raises(ReparentFailed, match="is locked" if locked else "says that it became primary of orders/-80"):
        asyncio.run(scene())
    assert asked.questions == []


def test_12_all_members_keep_backups_in_one_place():
    backup = {"engine": "xtrabackup", "locations": [{"s3": {"bucket": "shop", "region": "us-east-1"}}]}
    for part in split(shop(backup=backup), plan_of(shop(backup=backup))).values():
        assert part["spec"]["backup"] == backup
        assert part["metadata"]["name"] == "shop", "the storage root follows from it"


def test_a_plan_that_is_made_twice_is_the_same():
    first = plan_of(shop())
    assert planned(shop(), first).plan == replace(first)
