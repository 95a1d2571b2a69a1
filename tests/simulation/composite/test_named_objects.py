"""The Secrets and ConfigMaps that hooks name: read as they are now, followed only while a hook is open."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.composite.hooks.calling import HookFailed
from hanse.composite.hosting.named_objects import NamedObjects
from hanse.kube.client import Client
from hanse.kube.resources import CONFIGMAPS
from hanse.kube.runtime import SeededRuntime
from tests.simulation.composite.stage import config
from tests.simulation.world import ADMINISTRATOR, Wire

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


def followed():
    """Count the copies of a cluster's objects that are kept current at this moment."""
    return sum(task.get_coro().__qualname__ == "Cache.run" for task in asyncio.all_tasks())


@asynccontextmanager
async def cluster():
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="home", storage=MemoryStorage(), runtime=runtime)
    try:
        yield server, runtime
    finally:
        await server.close()


async def test_code_is_read_as_it_is_now_and_followed_only_while_its_hook_is_open():
    async with cluster() as (server, runtime):
        client = Client(server.connect(ADMINISTRATOR), runtime)
        wire = Wire(server.connect(ADMINISTRATOR), runtime)
        objects = NamedObjects(Client(wire, runtime))
        alone = followed()
        before = await objects.config_map("default", "code")
        await client.create(CONFIGMAPS, config("code", namespace="default", main="1"))
        await runtime.sleep(1)
        first = await objects.config_map("default", "code")
        await client.patch(CONFIGMAPS, "code", {"data": {"main": "2"}}, "default")
        await runtime.sleep(1)
        # Nobody is asked for what is followed.
        wire.hanging = True
        second = await objects.config_map("default", "code")
        following = followed()
        await objects.close()

        assert before is None
        assert (first["data"], second["data"]) == ({"main": "1"}, {"main": "2"})
        assert (following, followed()) == (alone + 1, alone)


async def test_what_may_not_be_read_is_told_by_its_name():
    async with cluster() as (server, runtime):
        objects = NamedObjects(Client(server.connect(Identity("nobody")), runtime))
        with pytest.raises(HookFailed, match="Secret default/code may not be read"):
            await objects.secret("default", "code")
        with pytest.raises(HookFailed, match="ConfigMap default/code may not be read"):
            await objects.config_map("default", "code")
        await objects.close()
