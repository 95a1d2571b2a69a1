"""A balancer hears of entrances on the host, and of every change of what is behind them."""

import asyncio

import pytest

from hanse.api.global_ingresses import GLOBAL_INGRESSES
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.cli.control_plane import prepare_host
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.runtime import SeededRuntime
from hanse.services.balancing.follower import BalancerFollower
from hanse.services.ingress.entrance import Behind, Entrance, Reach, entrance_manifest, told_status
from hanse.services.ingress.manifest import Backend
from tests.component.services.ingress.clusters import ADMINISTRATOR

pytestmark = pytest.mark.looptime

BEHIND = (Behind("east", ("192.0.2.1",)), Behind("west", ("192.0.2.2",)))
ENTRANCE = Entrance(Key("default", "front"), "web", BEHIND, default=Backend("web", "80"), reach=Reach(listen=8080))


class Recording:
    """A balancer that keeps what it was told."""

    def __init__(self):
        self.lines = ()
        self.told = asyncio.Event()

    async def apply(self, lines):
        self.lines = tuple(lines)
        self.told.set()
        return ()

    async def run(self):
        await asyncio.Event().wait()

    async def next_weights(self):
        self.told.clear()
        await asyncio.wait_for(self.told.wait(), 60)
        return {(line.listen, target.cluster): target.weight for line in self.lines for target in line.targets}


async def test_a_balancer_follows_what_is_ready_behind_an_entrance():
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=SeededRuntime())
    host = Client(server.connect(ADMINISTRATOR), SeededRuntime())
    await prepare_host(host)
    balancer = Recording()
    following = asyncio.create_task(BalancerFollower(host, balancer).run())
    try:
        before = await balancer.next_weights()
        created = await host.create(GLOBAL_INGRESSES, entrance_manifest(ENTRANCE))
        opened = await balancer.next_weights()
        status = told_status([Behind("west", ("192.0.2.2",), ("web",))])
        await host.update(GLOBAL_INGRESSES, {**created, "status": status}, subresource="status")
        moved = await balancer.next_weights()
        await host.delete(GLOBAL_INGRESSES, "front", "default")
        closed = await balancer.next_weights()
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await server.close()

    assert (before, closed) == ({}, {})
    assert opened == {(8080, "east"): 256, (8080, "west"): 256}
    assert moved == {(8080, "east"): 256, (8080, "west"): 0}
