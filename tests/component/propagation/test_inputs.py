"""What doors have to know, taken in by an engine on an API server in memory."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from hanse.api.policies import PLACEMENT_POLICIES
from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.cli.control_plane import prepare_host
from hanse.clusters.registry import Registry
from hanse.kube.client import Client
from hanse.kube.manifest import Key
from hanse.kube.resources import LEASES
from hanse.kube.runtime import SeededRuntime
from hanse.native import NativeDoor
from hanse.propagation.engine import Engine

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]


class LearningDoor(NativeDoor):
    """A door that wants to know Leases as soon as there is a policy, and keeps what it was told each time."""

    def __init__(self, told, curious=False):
        super().__init__()
        self._told = told
        self._curious = curious

    @property
    def inputs(self):
        return (*super().inputs, *((LEASES,) if self._curious else ()))

    def informed(self, inputs):
        self._told.append(inputs)
        return LearningDoor(self._told, curious=bool(inputs[PLACEMENT_POLICIES]))


def policy(name):
    metadata = {"name": name, "namespace": "default"}
    spec = {"selects": [{"kind": "*"}]}
    return {
        "apiVersion": PLACEMENT_POLICIES.api_version,
        "kind": PLACEMENT_POLICIES.kind,
        "metadata": metadata,
        "spec": spec,
    }


@asynccontextmanager
async def informed():
    """An engine that runs, and all that its door was told."""
    runtime, told = SeededRuntime(0), []
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime)
    host = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
    await prepare_host(host)
    registry = Registry(host, lambda endpoint: pytest.fail(f"nobody has joined: {endpoint}"))
    engine = Engine(host, registry, [LearningDoor(told)])
    tasks = [asyncio.create_task(part.run()) for part in (registry, engine)]
    try:
        await runtime.sleep(2)
        yield host, told
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.close()


async def test_a_door_that_learns_of_further_inputs_is_told_them_at_once():
    async with informed() as (host, told):
        before = len(told)
        await host.create(PLACEMENT_POLICIES, policy("one"))
        await host.runtime.sleep(1)
        lease = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": "x", "namespace": "default"},
        }
        await host.create(LEASES, lease)
        await host.runtime.sleep(1)

        assert LEASES not in told[before - 1]
        # A view is alive: what it was told of then is in it now.
        assert Key("default", "x") in told[before + 1][LEASES]


async def test_inputs_that_change_one_after_the_other_are_taken_in_together():
    async with informed() as (host, told):
        before = len(told)
        for number in range(20):
            await host.create(PLACEMENT_POLICIES, policy(f"policy-{number}"))
        await host.runtime.sleep(1)

        assert 0 < len(told) - before <= 4
        assert len(told[-1][PLACEMENT_POLICIES]) == 20
