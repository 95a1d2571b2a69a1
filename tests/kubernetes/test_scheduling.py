"""kube-scheduler still says of every case what was recorded, and what the simulated scheduler repeats."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
import pytest_asyncio

from hanse.kube import Client, Kubeconfig, SystemRuntime
from hanse.kube.conditions import find_condition
from hanse.kube.http import HttpTransport
from hanse.kube.manifest import Obj, dig
from hanse.kube.resources import PODS
from tests.kubernetes.follower import closing
from tests.kubernetes.real import HOST, RealCluster, real_clusters
from tests.kubernetes.scheduling_stage import staged
from tests.unit.simulator.scheduling_cases import CASES, Case
from tests.unit.simulator.scheduling_record import RECORDED

RUNTIME = SystemRuntime()
# Node lifecycle and volume controllers would change what the cases set up.
_SCHEDULER_ALONE = replace(HOST, scheduler=True)


@pytest.fixture(scope="module")
def scheduling() -> Iterator[RealCluster]:
    with real_clusters({"scheduling": _SCHEDULER_ALONE}) as clusters:
        yield clusters["scheduling"]


@pytest_asyncio.fixture
async def client(scheduling: RealCluster) -> AsyncIterator[Client]:
    endpoint = Kubeconfig.load(scheduling.kubeconfig).endpoint()
    async with closing(Client(HttpTransport(endpoint), RUNTIME)) as client:
        yield client


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_kube_scheduler_says_what_was_recorded(client: Client, case: Case) -> None:
    async with staged(client, case):
        # It may look before it has heard of all nodes, and then looks again.
        for _ in range(1200):
            said = scheduling_message(await client.get(PODS, "wanting", "default"))
            if said == RECORDED[case.name]:
                return
            await RUNTIME.sleep(0.05)
    assert said == RECORDED[case.name]


def scheduling_message(pod: Obj) -> str:
    """Return why a pod has no node; where it has one, which."""
    condition = find_condition(dig(pod, "status", "conditions"), "PodScheduled") or {}
    return str(dig(pod, "spec", "nodeName") or condition.get("message", ""))
