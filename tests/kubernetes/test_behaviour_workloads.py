"""The scenarios of a cluster's workloads on a real cluster with simulated nodes: what they expect is what it does."""

import asyncio

import pytest

from hanse.kube import Client, SystemRuntime
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.resources import NAMESPACES
from tests.behaviour import jobs, workloads
from tests.behaviour.stage import Stage
from tests.kubernetes.real import RealCluster

SCENARIOS = {scenario.__name__: scenario for scenario in (*workloads.SCENARIOS, *jobs.SCENARIOS)}
AT_ONCE = 6


async def play_all(cluster: RealCluster) -> dict[str, BaseException | None]:
    """Play every scenario in a namespace of its own, several at a time; return how each ended."""
    client = Client(HttpTransport(Kubeconfig.load(cluster.kubeconfig).endpoint()), SystemRuntime())
    turns = asyncio.Semaphore(AT_ONCE)

    async def play(number, scenario):
        async with turns:
            namespace = f"scenario-{number}"
            await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            await scenario(Stage(client, namespace))

    try:
        plays = [play(number, scenario) for number, scenario in enumerate(SCENARIOS.values())]
        return dict(zip(SCENARIOS, await asyncio.gather(*plays, return_exceptions=True), strict=True))
    finally:
        await client.close()


@pytest.fixture(scope="module")
def outcomes(member: RealCluster) -> dict[str, BaseException | None]:
    """How each scenario ended on one real cluster."""
    member.start_nodes()
    return asyncio.run(play_all(member))


@pytest.mark.parametrize("name", SCENARIOS, ids=lambda name: name.replace("_", " "))
def test_a_real_cluster_does_as_the_scenario_says(outcomes, name):
    if outcomes[name] is not None:
        raise outcomes[name]
