"""Admission of elected pods on the embedded API server, under attack and without an answer."""

import asyncio

import pytest
import pytest_asyncio

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.runtime import SystemRuntime
from tests.behaviour.pod_admission import (
    ATTACKS,
    admitting,
    check_allowed,
    check_others,
    check_placeholder,
    check_reinvocation,
    check_server_down,
    labelling,
    refusal,
)
from tests.component.apiserver.admission_webhook import patching, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Embedded:
    """An API server in this process."""

    def __init__(self, server, runtime):
        self._server, self._runtime = server, runtime
        self.admin = self.by("admin", ("system:masters",))

    def by(self, user, groups=()):
        return Client(self._server.connect(Identity(user, (*groups, "system:authenticated"))), self._runtime)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage():
    runtime = SystemRuntime()
    server = await ApiServer.open(name="source", storage=MemoryStorage(), runtime=runtime)
    stage = Embedded(server, runtime)
    async with admitting(stage):
        yield stage
    await server.close()


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=list(ATTACKS))
async def test_nobody_gets_past_admission(stage, attack):
    assert attack.is_told(await refusal(stage, attack))


async def test_03_10_11_a_placeholder_is_stored_in_place_of_an_elected_pod(stage):
    await check_placeholder(stage)


async def test_01_02_every_other_pod_is_stored_as_it_is(stage):
    await check_others(stage)


async def test_what_is_not_for_hanse_alone_anybody_changes_and_hanse_what_is(stage):
    await check_allowed(stage)


async def test_09_asked_again_admission_keeps_one_manifest(stage, tmp_path):
    async with serving(tmp_path) as late:
        late.answers["/late"] = patching({"op": "add", "path": "/metadata/labels/late.example.com", "value": "yes"})
        await check_reinvocation(stage, labelling(late.config("/late")))


async def test_12_a_dead_admission_server_holds_up_elected_pods_alone():
    runtime = SystemRuntime()
    server = await ApiServer.open(name="source", storage=MemoryStorage(), runtime=runtime)
    stage = Embedded(server, runtime)
    async with admitting(stage) as running:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await check_server_down(stage)
    await server.close()
