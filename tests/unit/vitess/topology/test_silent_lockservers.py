"""A lockserver that takes questions and never answers keeps nobody from what the others say."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import CellInfo, Keyspace
from hanse.kube.runtime import SeededRuntime
from hanse.services.providers.etcd_gateway import EtcdAccess, EtcdGateway
from hanse.services.providers.interface import ProviderError
from hanse.simulator.virtual_time import run_virtually
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from hanse.vitess.topology.picture import read_picture


class _Silent:
    async def read_all(self, directory):
        await asyncio.Event().wait()


class _Stores(MemoryStores):
    def open(self, address, root):
        return _Silent() if address == "silent:2379" else super().open(address, root)


async def _one_silent_cell():
    server = MemoryLockserver(SeededRuntime())
    topology = Topology(_Stores({"global:2379": server}), LockserverParams("etcd2", "global:2379", "/vitess/global"))
    await topology.create(paths.keyspace("orders"), Keyspace())
    await topology.create(paths.cell_info("here"), CellInfo("global:2379", "/vitess/here"))
    await topology.create(paths.cell_info("there"), CellInfo("silent:2379", "/vitess/there"))
    async with asyncio.timeout(5):
        return await read_picture(topology)


def test_a_cell_that_is_silent_hides_neither_the_global_records_nor_other_cells():
    picture = run_virtually(_one_silent_cell)
    assert set(picture.keyspaces) == {"orders"}
    assert set(picture.local) == {"here"}
    assert "silent:2379" in picture.silent["there"]


@asynccontextmanager
async def _members():
    """Run one etcd member that never answers and one that does; yields their addresses, and who was asked."""
    asked = []

    async def hang(reader, writer):
        asked.append("silent")
        await reader.read()
        writer.close()

    async def answer(_request):
        asked.append("well")
        return web.json_response({})

    silent = await asyncio.start_server(hang, "127.0.0.1", 0)
    app = web.Application()
    app.router.add_post("/v3/kv/range", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    ports = silent.sockets[0].getsockname()[1], runner.addresses[0][1]
    try:
        yield [f"http://127.0.0.1:{port}" for port in ports], asked
    finally:
        await runner.cleanup()
        silent.close()


async def test_a_member_of_etcd_that_is_silent_costs_its_time_once():
    async with _members() as (addresses, asked):
        gateway = EtcdGateway(addresses, EtcdAccess(), timeout=0.2)
        assert await gateway.post("/v3/kv/range", {}) == {}
        assert await gateway.post("/v3/kv/range", {}) == {}
        await gateway.close()
        assert asked == ["silent", "well", "well"]


async def test_one_who_loses_patience_asks_another_member_next_time():
    async with _members() as (addresses, asked):
        gateway = EtcdGateway(addresses, EtcdAccess(), timeout=60)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await gateway.post("/v3/kv/range", {})
        assert await gateway.post("/v3/kv/range", {}) == {}
        await gateway.close()
        assert asked == ["silent", "well"]


async def test_all_members_together_take_no_longer_than_one_may():
    async with _members() as (addresses, _asked):
        gateway = EtcdGateway([addresses[0], addresses[0] + "/again"], EtcdAccess(), timeout=0.1)
        async with asyncio.timeout(5):
            with pytest.raises(ProviderError, match="no member of etcd answers"):
                await gateway.post("/v3/kv/range", {})
        await gateway.close()
