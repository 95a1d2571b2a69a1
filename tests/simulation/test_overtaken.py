"""What was decided before a wait counts no longer where the source has lost its say meanwhile."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.clusters.access import Access
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import SeededRuntime
from hanse.native import NativeDoor
from hanse.propagation.engine import Engine
from tests.simulation.world import World, config

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


class SlowAccess(Access):
    """Says that everybody may use every cluster, once it is asked at a good moment."""

    def __init__(self, host):
        super().__init__(host)
        self.answers = asyncio.Event()
        self.answers.set()

    async def refusals(self, *_question):
        await self.answers.wait()
        return {}


class BareWorld(World):
    """A federation of plain objects with an engine and nothing beside it."""

    def start_control_plane(self):
        host = Client(self._wire("host"), self.runtime)
        registry = Registry(host, lambda endpoint: self._wire(endpoint.server.removeprefix("https://")))
        self.access = SlowAccess(host)
        engine = Engine(host, registry, [NativeDoor()], self.access)
        self._control_plane = asyncio.ensure_future(_together(registry.run(), engine.run()))


async def _together(*parts):
    async with asyncio.TaskGroup() as tasks:
        for part in parts:
            tasks.create_task(part)


@asynccontextmanager
async def bare_world():
    world = BareWorld(SeededRuntime(0))
    try:
        await world.start(("a",))
        yield world
    finally:
        await world.close()


async def test_a_source_that_went_while_its_rights_were_asked_for_leaves_nothing_behind():
    async with bare_world() as world:

        async def there():
            return await world.find("a", CONFIGMAPS, "settings")

        async def gone():
            return await world.host.find(CONFIGMAPS, "settings", "default") is None

        await world.host.create(CONFIGMAPS, config())
        await world.until(there)
        await world.runtime.sleep(5)
        world.access.answers.clear()
        await world.clients["a"].patch(CONFIGMAPS, "settings", {"metadata": {"labels": {"their": "own"}}}, "default")
        await world.runtime.sleep(2)
        await world.host.delete(CONFIGMAPS, "settings", "default")
        await world.until(gone)
        world.forget_writes()

        world.access.answers.set()
        await world.runtime.sleep(5)

        assert not await there()
        assert world.writes() == {}
