"""The lock of a shard among clients whose network comes and goes: never two who may act, and nobody waits for ever."""

import asyncio

import pytest

from hanse.kube.runtime import SeededRuntime
from hanse.simulator.virtual_time import run_virtually
from hanse.vitess.topology.memory import MemoryLockserver, MemoryStores
from hanse.vitess.topology.store import LockLost, LockTaken, Unreachable

DIRECTORY = "keyspaces/orders/shards/-"
CLIENTS = 4
MINUTES = 20


class Scene:
    """Clients that take the lock again and again, act while it is surely theirs, and lose their network at times."""

    def __init__(self, seed):
        self.runtime = SeededRuntime(seed)
        self.server = MemoryLockserver(self.runtime)
        self.clients = [MemoryStores({"global:2379": self.server}) for _ in range(CLIENTS)]
        # Until when each may act: what a lease that was just kept guarantees.
        self.sure_until = [0.0] * CLIENTS
        self.acts = [0] * CLIENTS

    async def client(self, number):
        store = self.clients[number].open("global:2379", "/g")
        while True:
            try:
                async with store.lock(DIRECTORY, f"client {number}") as lock:
                    for _ in range(3):
                        await lock.check()
                        self.act(number)
                        await self.runtime.sleep(self.runtime.uniform(0, 5))
            except (LockLost, LockTaken, Unreachable):
                pass
            finally:
                self.sure_until[number] = 0.0
            await self.runtime.sleep(self.runtime.uniform(0, 3))

    def act(self, number):
        now = self.runtime.monotonic()
        others = [until for other, until in enumerate(self.sure_until) if other != number]
        assert max(others) <= now, f"{number} acts while another surely may, until {max(others)}"
        self.sure_until[number] = now + 30
        self.acts[number] += 1

    async def faults(self):
        while True:
            await self.runtime.sleep(self.runtime.uniform(5, 60))
            link = self.clients[int(self.runtime.uniform(0, CLIENTS))].link("global:2379")
            link.cut = True
            await self.runtime.sleep(self.runtime.uniform(1, 90))
            link.cut = False

    async def play(self):
        await self.server.store("/g").create(f"{DIRECTORY}/Shard", b"")
        tasks = [asyncio.create_task(self.client(number)) for number in range(CLIENTS)]
        tasks.append(asyncio.create_task(self.faults()))
        await self.runtime.sleep(MINUTES * 60)
        failed = [task.exception() for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert failed == []
        assert min(self.acts) > 0


@pytest.mark.parametrize("seed", range(5))
def test_never_two_may_act_and_everybody_comes_to_it(seed):
    run_virtually(Scene(seed).play)
