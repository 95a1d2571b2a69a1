"""The lockserver in memory behaves as etcd does: versions, directories, leases, locks."""

import asyncio

import pytest

from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import CellInfo, Keyspace, Tablet, TabletAlias
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.virtual_time import run_virtually
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from hanse.vitess.topology.store import (
    BadRecord,
    BadVersion,
    LockLost,
    LockTaken,
    NodeExists,
    NoNode,
    Unreachable,
    Version,
)


def virtually(scene):
    """Play an async test on virtual time."""

    def play():
        run_virtually(lambda: scene(MemoryLockserver(SeededRuntime())))

    play.__name__ = scene.__name__
    return play


def topology_of(server, stores=None):
    return Topology(
        stores or MemoryStores({"global:2379": server}), LockserverParams("etcd2", "global:2379", "/vitess/global")
    )


@virtually
async def test_a_write_demands_the_version_that_was_read(server):
    store = server.store("/vitess/global")
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
    assert (await store.read("a/File")).value == b"2"
    await store.delete("a/File", second)
    with pytest.raises(NoNode):
        await store.read("a/File")
    with pytest.raises(NoNode):
        await store.delete("a/File", None)


@virtually
async def test_a_directory_is_there_while_it_holds_files_and_roots_are_apart(server):
    store = server.store("/vitess/global")
    await store.create("keyspaces/a/Keyspace", b"")
    await store.create("keyspaces/b/shards/-/Shard", b"")
    await server.store("/vitess/globality").create("keyspaces/c/Keyspace", b"")
    assert await store.names("keyspaces") == ("a", "b")
    assert await store.names("cells") == ()
    assert list(await store.read_all("keyspaces/b")) == ["keyspaces/b/shards/-/Shard"]
    assert len(await store.read_all("")) == 2


@virtually
async def test_a_second_holder_waits_for_the_first(server):
    here, there = server.store("/g"), server.store("/g")
    await here.create("keyspaces/a/Keyspace", b"")
    order = []

    async def other():
        async with there.lock("keyspaces/a", "second"):
            order.append("second")

    async with here.lock("keyspaces/a", "first") as lock:
        task = asyncio.create_task(other())
        await asyncio.sleep(20)
        await lock.check()
        order.append("first")
        assert await here.names("keyspaces/a") == ("Keyspace",)
    await task
    assert order == ["first", "second"]


@virtually
async def test_one_who_waits_too_long_is_told_and_leaves_nothing_behind(server):
    store = server.store("/g")
    await store.create("keyspaces/a/Keyspace", b"")
    async with store.lock("keyspaces/a", "first"):
        with pytest.raises(LockTaken, match=r"keyspaces/a is locked by another, for longer than 3 s"):
            async with store.lock("keyspaces/a", "second", patience=3):
                pass
    assert len(server.files()) == 1


@virtually
async def test_the_lock_of_one_who_is_cut_off_ends_with_its_lease_and_he_is_told(server):
    stores = MemoryStores({"global:2379": server})
    here, there = stores.open("global:2379", "/g"), server.store("/g")
    await there.create("keyspaces/a/Keyspace", b"")
    async with here.lock("keyspaces/a", "first") as lock:
        stores.link("global:2379").cut = True
        with pytest.raises(LockLost, match="cannot be asked"):
            await lock.check()
        started = server.runtime.monotonic()
        async with there.lock("keyspaces/a", "second"):
            assert 20 <= server.runtime.monotonic() - started <= 31
            stores.link("global:2379").cut = False
            with pytest.raises(LockLost, match="has run out"):
                await lock.check()


@virtually
async def test_what_is_not_there_cannot_be_locked(server):
    with pytest.raises(NoNode):
        async with server.store("/g").lock("keyspaces/a", "first"):
            pass


@virtually
async def test_records_of_a_cell_lie_where_its_cell_info_says(server):
    local = MemoryLockserver(server.runtime)
    topology = topology_of(server, MemoryStores({"global:2379": server, "zone1:2379": local}))
    alias = TabletAlias("zone1", 100)
    with pytest.raises(NoNode):
        await topology.read(paths.tablet(alias))
    await topology.create(paths.cell_info("zone1"), CellInfo("zone1:2379", "/vitess/zone1"))
    await topology.create(paths.tablet(alias), Tablet(alias=alias))
    assert list(local.files()) == ["vitess/zone1/tablets/zone1-0000000100/Tablet"]
    assert await topology.names("zone1", "tablets") == ("zone1-0000000100",)
    local.up = False
    with pytest.raises(Unreachable):
        await topology.find(paths.tablet(alias))


@virtually
async def test_a_change_is_made_on_what_others_wrote_meanwhile_and_only_if_it_changes_something(server):
    topology = topology_of(server)
    place = paths.keyspace("commerce")
    assert await topology.ensure(place, Keyspace())
    meddlers = iter((True, False, False))

    def to_semi_sync(record):
        if next(meddlers):
            server.write("vitess/global/keyspaces/commerce/Keyspace", b"\x52\x03abc")
        return Keyspace(durability_policy="semi_sync", sidecar_db_name=record.sidecar_db_name)

    assert await topology.update(place, to_semi_sync)
    assert await topology.find(place) == Keyspace(durability_policy="semi_sync", sidecar_db_name="abc")
    before = server.writes
    assert not await topology.update(place, to_semi_sync)
    assert not await topology.ensure(place, Keyspace())
    assert server.writes == before
    assert await topology.delete(place)
    assert not await topology.delete(place)


@virtually
async def test_a_file_that_is_no_record_is_told_with_its_path(server):
    topology = topology_of(server)
    await server.store("/vitess/global").create("cells/zone1/CellInfo", b"\x08\x01")
    with pytest.raises(BadRecord, match="global:cells/zone1/CellInfo is not a CellInfo of Vitess"):
        await topology.find(paths.cell_info("zone1"))
