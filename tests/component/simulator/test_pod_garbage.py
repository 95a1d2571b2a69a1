"""Pods that nobody will end any more are removed."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.kube.manifest import name_of
from hanse.kube.resources import NODES, PODS
from hanse.simulator.settings import ClusterSettings
from hanse.simulator.workloads.pod_garbage import QUARANTINE_SECONDS, PodGarbage
from hanse.simulator.world import World
from tests.component.simulator.harness import NAMESPACE, world

pytestmark = pytest.mark.looptime


@asynccontextmanager
async def garbage_collected(here, **choices):
    """Run the garbage collector alone: no kubelet takes its work away."""
    its = World(here.client, ClusterSettings(name="us-east"), here.runtime)
    collector = PodGarbage(its, **choices)

    async def run():
        async with asyncio.TaskGroup() as tasks:
            its.start_caches(tasks)
            await its.wait_synced()
            tasks.create_task(collector.controller.run())

    task = asyncio.ensure_future(run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def create_node(here, name):
    await here.client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})


async def create_pod(here, name, *, node="", phase=""):
    spec = {"containers": [{"name": "main", "image": "nginx"}], **({"nodeName": node} if node else {})}
    metadata = {"name": name, "namespace": NAMESPACE}
    await here.client.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    if phase:
        await here.client.patch(PODS, name, {"status": {"phase": phase}}, NAMESPACE, subresource="status")


async def names(here):
    return [name_of(pod) for pod in (await here.client.list(PODS, NAMESPACE)).items]


async def test_the_pods_of_a_node_that_is_gone_go_after_a_while():
    async with world() as here, garbage_collected(here):
        for node in ("kept", "lost"):
            await create_node(here, node)
            await create_pod(here, f"on-{node}", node=node)
        await here.client.delete(NODES, "lost")
        await here.runtime.sleep(QUARANTINE_SECONDS - 1)
        assert await names(here) == ["on-kept", "on-lost"]
        await here.runtime.sleep(2.0)
        assert await names(here) == ["on-kept"]


async def test_a_node_that_comes_back_in_time_keeps_its_pods():
    async with world() as here, garbage_collected(here):
        await create_node(here, "flaky")
        await create_pod(here, "on-flaky", node="flaky")
        await here.client.delete(NODES, "flaky")
        await here.runtime.sleep(QUARANTINE_SECONDS / 2)
        await create_node(here, "flaky")
        await here.runtime.sleep(2 * QUARANTINE_SECONDS)
        assert await names(here) == ["on-flaky"]


async def test_a_collector_that_starts_later_finds_them_too():
    async with world() as here:
        await create_pod(here, "on-nothing", node="never-was")
        async with garbage_collected(here):
            await here.runtime.sleep(QUARANTINE_SECONDS + 1)
            assert await names(here) == []


async def test_of_too_many_ended_pods_the_oldest_go():
    async with world() as here, garbage_collected(here, kept=2):
        for number in range(4):
            await create_pod(here, f"done-{number}", phase="Succeeded")
            await here.runtime.sleep(1.0)
        await create_pod(here, "running")
        await here.runtime.sleep(1.0)
        assert await names(here) == ["done-2", "done-3", "running"]
