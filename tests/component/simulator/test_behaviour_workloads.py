"""The scenarios of a cluster's workloads on a simulated one, on virtual time."""

import pytest

from hanse.kube.resources import NAMESPACES
from tests.behaviour import jobs, workloads
from tests.behaviour.stage import Stage
from tests.component.simulator.harness import running, world


@pytest.mark.looptime
@pytest.mark.parametrize(
    "scenario", [*workloads.SCENARIOS, *jobs.SCENARIOS], ids=lambda scenario: scenario.__name__.replace("_", " ")
)
async def test_a_simulated_cluster_does_as_a_real_one(scenario):
    async with world() as here, running(here.cluster()):
        await here.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "scenario"}}
        )
        await scenario(Stage(here.client, "scenario"))
