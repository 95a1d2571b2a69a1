"""The summary of a cluster whose nodes are written by hand."""

from __future__ import annotations

import asyncio

import pytest

from hanse.api.admiralty.definitions import CLUSTER_SUMMARY_CRD
from hanse.api.admiralty.keys import PROVIDER, PROVIDER_NAME
from hanse.api.admiralty.kinds import CLUSTER_SUMMARIES
from hanse.apiserver import ApiServer, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.manifest import labels_of
from hanse.kube.resources import CRDS, NODES
from hanse.kube.runtime import SeededRuntime
from hanse.pods.summaries.keeper import SummaryKeeper
from tests.component.pods.wire import ADMINISTRATOR, Wire

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


async def test_a_summary_follows_the_nodes_and_rests_with_them():
    """Lines 60 and 61."""
    runtime = SeededRuntime(0)
    server = await ApiServer.open(name="target", storage=MemoryStorage(), runtime=runtime)
    client = Client(server.connect(ADMINISTRATOR), runtime, manager="kubectl")
    wire = Wire(server.connect(ADMINISTRATOR, as_remote=True))
    keeper = asyncio.create_task(SummaryKeeper(Client(wire, runtime)).run())

    async def node(name, cpu, **labels):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
        await client.create(NODES, node)
        status = {"capacity": {"cpu": cpu, "memory": "1Gi"}, "allocatable": {"cpu": cpu}}
        await client.patch(NODES, name, {"status": status}, subresource="status")

    async def summary():
        await runtime.sleep(11.0)
        return await client.get(CLUSTER_SUMMARIES, "singleton")

    try:
        await node("one", "4", region="eu", disk="ssd")
        await runtime.sleep(20.0)
        assert wire.writes == []
        await client.create(CRDS, CLUSTER_SUMMARY_CRD)
        assert (await summary())["capacity"] == {"cpu": "4", "memory": "1Gi"}
        await node("two", "8", region="eu", disk="hdd")
        await node("far", "1000", **{PROVIDER: PROVIDER_NAME, "region": "us"})
        found = await summary()
        assert (found["capacity"], found["allocatable"]) == ({"cpu": "12", "memory": "2Gi"}, {"cpu": "12"})
        assert labels_of(found) == {"region": "eu"}
        await client.delete(NODES, "two")
        await client.patch(CLUSTER_SUMMARIES, "singleton", {"capacity": {"cpu": "1"}})
        found = await summary()
        assert (found["capacity"]["cpu"], labels_of(found)) == ("4", {"region": "eu", "disk": "ssd"})
        wire.writes.clear()
        beat = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await client.patch(NODES, "one", beat, subresource="status")
        await runtime.sleep(60.0)
        assert wire.writes == []
    finally:
        keeper.cancel()
        await asyncio.gather(keeper, return_exceptions=True)
        await server.close()
