"""Topology that does not answer costs whoever asks for it first, and nobody after them."""

import asyncio

from hanse.api.planetscale.values import LockserverParams
from hanse.api.vitess_records.topology import CellInfo
from hanse.kube.runtime import SeededRuntime
from hanse.simulator.virtual_time import run_virtually
from hanse.vitess.operator.pictures import Pictures
from hanse.vitess.topology import paths
from hanse.vitess.topology.access import Topology
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from hanse.vitess.topology.store import Unreachable

LOCKSERVER = LockserverParams("etcd2", "global:2379", "/vitess/global")


class _Slow:
    """A lockserver of which one learns after seconds that it does not answer."""

    def __init__(self, runtime):
        self.runtime = runtime
        self.asked = 0

    async def read_all(self, directory):
        self.asked += 1
        await self.runtime.sleep(2.5)
        raise Unreachable("it does not answer")


class _Stores(MemoryStores):
    def __init__(self, servers, slow, address):
        super().__init__(servers)
        self.slow, self.address = slow, address

    def open(self, address, root):
        return self.slow if address == self.address else super().open(address, root)


def test_a_lockserver_that_was_silent_keeps_one_waiting_and_the_others_not():
    async def scene():
        runtime = SeededRuntime()
        pictures = Pictures(_Stores({}, _Slow(runtime), "global:2379"), runtime)
        assert (await pictures.glance(LOCKSERVER)).picture is None
        await runtime.sleep(10)
        first = asyncio.create_task(pictures.glance(LOCKSERVER))
        await asyncio.sleep(0)
        began = runtime.monotonic()
        others = await asyncio.gather(*(pictures.glance(LOCKSERVER) for _ in range(10)))
        assert {each.picture for each in others} == {None}
        assert runtime.monotonic() == began
        await first

    run_virtually(scene)


def test_a_cell_that_was_silent_is_asked_again_after_a_while_only():
    async def scene():
        runtime = SeededRuntime()
        server, slow = MemoryLockserver(runtime), _Slow(runtime)
        stores = _Stores({"global:2379": server}, slow, "cell:2379")
        await Topology(stores, LOCKSERVER).create(paths.cell_info("there"), CellInfo("cell:2379", "/vitess/there"))
        pictures = Pictures(stores, runtime)
        for _ in range(4):
            glance = await pictures.glance(LOCKSERVER)
            assert set(glance.picture.silent) == {"there"}, "nothing is known of it meanwhile"
            pictures.forget(LOCKSERVER)
        assert slow.asked == 1
        await runtime.sleep(15)
        await pictures.glance(LOCKSERVER)
        assert slow.asked == 2

    run_virtually(scene)
