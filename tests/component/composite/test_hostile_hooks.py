"""Python hooks that hang, flood or devour, in their processes: each harms its own parent, which says so."""

import asyncio

import pytest

from hanse.api.metacontroller.definitions import METACONTROLLER_CRDS
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.composite_parts import run_controllers
from hanse.kube.client import Client
from hanse.kube.conditions import find_condition
from hanse.kube.resources import CONFIGMAPS, CRDS
from hanse.kube.runtime import SystemRuntime
from tests.simulation.composite.stage import THINGS, child, composite, parent_crd, thing

DEADLINE = 60.0

CODE = """
import time


def sync(request):
    match request["parent"]["metadata"]["name"]:
        case "silent":
            time.sleep(1000)
        case "flooding":
            return {"status": {"text": "x" * 100 * 1024 * 1024}, "children": []}
        case "devouring":
            kept = []
            while True:
                kept.append(bytearray(8 * 1024 * 1024))
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made", "labels": {"thing": "good"}}}
    return {"children": [made]}
"""
HOSTILE = {"silent": "took longer than 1 s", "flooding": "answered with 100.0 MB", "devouring": "memory"}


@pytest.fixture
async def client():
    """A cluster whose lambda controllers are run, and in which Python may be."""
    runtime = SystemRuntime()
    server = await ApiServer.open(name="home", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    for crd in (*METACONTROLLER_CRDS, parent_crd(THINGS)):
        await client.create(CRDS, crd)
    serving = asyncio.create_task(run_controllers(client, trusted=True))
    yield client
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    await client.close()
    await server.close()


async def _serve(client, name):
    # Enough to write a hundred megabytes, which are then refused for their size.
    memory = "512Mi" if name == "flooding" else "64Mi"
    python = {"inline": CODE, "timeout": "1s" if name == "silent" else "60s", "memory": memory}
    mine = {"labelSelector": {"matchLabels": {"case": name}}}
    controller = composite(name, {"sync": {"version": "v1", "python": python}}, child(CONFIGMAPS), parent=mine)
    parent = thing(name)
    parent["metadata"]["labels"] = {"case": name}
    await client.create(await client.resource_of(controller), controller)
    await client.create(THINGS, parent)


async def _told(client, name):
    async with asyncio.timeout(DEADLINE):
        while True:
            stored = await client.get(THINGS, name, "default")
            if told := find_condition((stored.get("status") or {}).get("conditions"), "Synced"):
                return told["message"]
            await client.runtime.sleep(0.05)


async def test_a_hook_that_hangs_floods_or_devours_is_named_by_its_parent_and_another_parent_is_served(client):
    for name in (*HOSTILE, "good"):
        await _serve(client, name)
    async with asyncio.timeout(DEADLINE):
        while await client.find(CONFIGMAPS, "made", "default") is None:
            await client.runtime.sleep(0.05)

    for name, says in HOSTILE.items():
        told = await _told(client, name)
        assert 'the Python function "sync"' in told, name
        assert says in told, name
