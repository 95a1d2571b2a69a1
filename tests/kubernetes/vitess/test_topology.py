"""Hanse and the real vtctld on one real etcd: each reads what the other wrote, and their locks exclude each other."""

import asyncio
from dataclasses import replace

import pytest

from hanse.api.planetscale.values import LockserverParams, TopologySwitches
from hanse.api.vitess_records.topology import (
    CellInfo,
    CellsAlias,
    KeyRange,
    Keyspace,
    Shard,
    Tablet,
    TabletAlias,
    TabletType,
)
from hanse.kube.runtime import SystemRuntime
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.applying import perform
from hanse.vitess.topology.etcd import EtcdStores
from hanse.vitess.topology.picture import read_picture
from hanse.vitess.topology.planning import plan_cells, prune_keyspaces, prune_shards, prune_tablets
from hanse.vitess.topology.registering import TopologyRegistry, ensure_shard
from hanse.vitess.topology.store import BadVersion, LockTaken, NodeExists, NoNode, Unreachable, Version
from tests.kubernetes.vitess.programs import real_vitess

ZONE1_ROOT = "/vitess/shop/local/zone1"


@pytest.fixture(scope="module")
def vitess():
    with real_vitess() as running:
        yield running


@pytest.fixture
async def stores(vitess):
    opened = vitess.stores()
    yield opened
    await opened.close()


@pytest.fixture
async def topology(vitess, stores):
    found = vitess.topology(stores)
    await found.ensure(paths.cell_info("zone1"), CellInfo(vitess.etcd, ZONE1_ROOT))
    return found


def tablet(uid, keyspace, shard="-", kind=TabletType.REPLICA):
    alias = TabletAlias("zone1", uid)
    ports = {"vt": 15000, "grpc": 15999}
    return Tablet(alias=alias, hostname="10.0.0.1", port_map=ports, keyspace=keyspace, shard=shard, type=kind)


async def test_vtctldclient_reads_what_hanse_wrote(vitess, topology):
    await topology.ensure(paths.cells_alias("region"), CellsAlias(("zone1",)))
    await topology.create(paths.keyspace("orders"), Keyspace(durability_policy="semi_sync", sidecar_db_name="_vt"))
    await TopologyRegistry(topology).publish(tablet(100, "orders", "-80"))

    assert (await vitess.client("GetCellInfo", "zone1")) == {"server_address": vitess.etcd, "root": ZONE1_ROOT}
    assert (await vitess.client("GetCellsAliases"))["region"] == {"cells": ["zone1"]}
    keyspace = await vitess.client("GetKeyspace", "orders")
    assert keyspace["keyspace"]["durability_policy"] == "semi_sync"
    shard = await vitess.client("GetShard", "orders/-80")
    assert shard["shard"]["key_range"] == {"start": "", "end": "gA=="}
    assert shard["shard"]["is_primary_serving"] is True
    [found] = await vitess.client("GetTablets", "--keyspace=orders", "--format=json")
    assert (found["alias"], found["type"]) == ({"cell": "zone1", "uid": 100}, 2)
    assert (found["hostname"], found["port_map"]) == ("10.0.0.1", {"grpc": 15999, "vt": 15000})


async def test_hanse_sees_what_vtctldclient_changed(vitess, topology):
    await vitess.client("AddCellInfo", f"--server-address={vitess.etcd}", "--root=/vitess/shop/local/zone9", "zone9")
    await vitess.client("AddCellsAlias", "--cells=zone9", "nine")
    await vitess.client("CreateKeyspace", "--durability-policy=none", "made")
    for shard in ("-40", "40-80", "80-"):
        await vitess.client("CreateShard", f"made/{shard}")
    picture = await read_picture(topology)
    assert picture.cells["zone9"] == CellInfo(vitess.etcd, "/vitess/shop/local/zone9")
    assert picture.aliases["nine"] == CellsAlias(("zone9",))
    assert picture.keyspaces["made"].value.durability_policy == "none"
    assert picture.shards["made", "40-80"].value == Shard(key_range=KeyRange(b"\x40", b"\x80"), is_primary_serving=True)

    await vitess.client("SetKeyspaceDurabilityPolicy", "--durability-policy=cross_cell", "made")
    await vitess.client("RebuildKeyspaceGraph", "--cells=zone9", "made")
    picture = await read_picture(topology)
    assert picture.keyspaces["made"].value.durability_policy == "cross_cell"
    assert picture.local["zone9"].srv_keyspaces["made"].shards(TabletType.PRIMARY) == {"-40", "40-80", "80-"}
    assert picture.serving_cells("made", "40-80") == {"zone9"}


async def test_a_shard_serves_only_if_its_range_overlaps_none_that_is_there(vitess, topology):
    for shard in ("-40", "40-80", "-80"):
        await ensure_shard(topology, "split", shard)
    serving = {
        shard: (await vitess.client("GetShard", f"split/{shard}"))["shard"]["is_primary_serving"]
        for shard in ("-40", "40-80", "-80")
    }
    assert serving == {"-40": True, "40-80": True, "-80": False}


async def test_fields_of_a_record_that_hanse_does_not_know_survive_its_writes(vitess, topology):
    await vitess.client("CreateKeyspace", "--durability-policy=none", "throttled")
    await vitess.client("CreateShard", "throttled/-")
    await vitess.client("UpdateThrottlerConfig", "--enable", "--threshold=7.5", "throttled")
    before = await topology.find(paths.keyspace("throttled"))
    assert before is not None
    assert before.unknown
    await topology.update(paths.keyspace("throttled"), lambda found: replace(found, durability_policy="semi_sync"))
    record = (await vitess.client("GetKeyspace", "throttled"))["keyspace"]
    assert record["durability_policy"] == "semi_sync"
    assert record["throttler_config"]["enabled"] is True
    assert record["throttler_config"]["threshold"] == 7.5


async def test_while_hanse_holds_a_lock_vtctld_waits(vitess, topology):
    await topology.ensure(paths.keyspace("locked"), Keyspace())
    change = ("SetKeyspaceDurabilityPolicy", "--durability-policy=semi_sync", "locked")
    async with await topology.lock(paths.keyspace_directory("locked"), "a test") as lock:
        waiting = asyncio.create_task(vitess.client(*change))
        await vitess.queued(paths.keyspace_directory("locked"), 2)
        await lock.check()
        assert not waiting.done()
        assert (await topology.read(paths.keyspace("locked"))).value.durability_policy == ""
    await waiting
    assert (await topology.read(paths.keyspace("locked"))).value.durability_policy == "semi_sync"


async def test_locks_are_given_in_the_order_in_which_hanse_and_vtctld_came(vitess, topology):
    directory = paths.keyspace_directory("queue")
    await topology.ensure(paths.keyspace("queue"), Keyspace())
    async with await topology.lock(directory, "first"):
        second = asyncio.create_task(vitess.client("CreateShard", "queue/-"))
        await vitess.queued(directory, 2)
        with pytest.raises(LockTaken):
            async with await topology.lock(directory, "too hasty", patience=0.5):
                pass
        third = asyncio.create_task(shards_once_locked(topology, directory))
        await vitess.queued(directory, 3)
    await second
    assert await third == ("-",)


async def shards_once_locked(topology, directory):
    async with await topology.lock(directory, "third"):
        return await topology.names("global", f"{directory}/shards")


async def test_what_hanse_prunes_is_gone_for_vtctld_and_nothing_else(vitess, topology):
    registry = TopologyRegistry(topology)
    for record in (tablet(1, "kept"), tablet(2, "kept"), tablet(3, "pruned"), tablet(4, "kept", "80-")):
        await registry.publish(record)
    await vitess.client("ApplyVSchema", "--vschema={}", "pruned")
    picture = await read_picture(topology)
    others = picture.keyspace_names() - {"pruned"}
    switches = TopologySwitches()
    steps = [
        *prune_keyspaces(picture, ["zone1"], others, [], switches),
        *prune_shards(picture, ["zone1"], "kept", ["-"], switches),
        *prune_tablets(picture, ["zone1"], "kept", "-", [TabletAlias("zone1", 1)], switches),
    ]
    told = await perform(topology, steps)
    assert [each.reason for each in told] == ["TopoCleanup"] * 3, told
    assert "pruned" not in {each["name"] for each in await vitess.client("GetKeyspaces")}
    assert list((await vitess.client("FindAllShardsInKeyspace", "kept"))["shards"]) == ["-"]
    [left] = await vitess.client("GetTablets", "--keyspace=kept", "--format=json")
    assert left["alias"]["uid"] == 1
    assert (await vitess.client("GetShardReplication", "kept/-", "zone1"))["shard_replication_by_cell"]["zone1"][
        "nodes"
    ] == [{"tablet_alias": {"cell": "zone1", "uid": 1}}]


async def test_cells_are_registered_once_and_then_left_alone(vitess, topology):
    wanted = {"zone1": CellInfo(vitess.etcd, ZONE1_ROOT), "zone2": CellInfo(vitess.etcd, "/vitess/shop/local/zone2")}
    switches = TopologySwitches(register_cells_aliases=False, prune_cells=False)
    await perform(topology, plan_cells(await read_picture(topology), wanted, [], switches))
    assert "zone2" in (await vitess.client("GetCellInfoNames")).split()
    assert plan_cells(await read_picture(topology), wanted, [], switches) == []


async def test_a_write_demands_the_version_that_was_read(stores, vitess):
    store = stores.open(vitess.etcd, "/apart")
    first = await store.create("a/File", b"1")
    second = await store.update("a/File", b"2", first)
    with pytest.raises(BadVersion):
        await store.update("a/File", b"3", first)
    with pytest.raises(BadVersion):
        await store.update("b/File", b"3", Version(1))
    with pytest.raises(BadVersion):
        await store.delete("a/File", first)
    with pytest.raises(NodeExists):
        await store.create("a/File", b"3")
    assert (await store.read("a/File")).version == second
    await store.delete("a/File", second)
    with pytest.raises(NoNode):
        await store.read("a/File")
    with pytest.raises(NoNode):
        await store.delete("a/File", None)
    with pytest.raises(NoNode):
        async with store.lock("a", "nothing is there"):
            pass


async def test_more_files_than_one_page_are_read_as_of_one_moment(stores, vitess):
    store = stores.open(vitess.etcd, "/many")
    await asyncio.gather(*(store.create(f"tablets/{number:04}/Tablet", b"x") for number in range(1100)))
    assert len(await store.names("tablets")) == 1100
    assert len(await store.read_all("")) == 1100


async def test_an_etcd_that_does_not_answer_is_unreachable_and_never_empty():
    stores = EtcdStores(SystemRuntime(), timeout=1)
    with pytest.raises(Unreachable, match="no member of etcd answers"):
        await read_picture(Topology(stores, LockserverParams("etcd2", "127.0.0.1:1", "/vitess")))
    await stores.close()
