"""Whatever is done to a cluster on a bad wire, it ends as it was asked to once the wire is sound."""

import random

import pytest

from hanse.kube.manifest import name_of
from hanse.kube.resources import DEPLOYMENTS, PODS
from tests.component.simulator.harness import NAMESPACE, PodHistory, Wire, deployment, running, world

MOST_REPLICAS = 8
# Of the replicas asked for, a quarter more for the surge of a rollout, rounded up.
MOST_PODS = 10


class Troublemaker:
    """Does one thing after the other to a Deployment and its cluster, chosen by a seed."""

    def __init__(self, here, cluster, seed):
        self._here = here
        self._cluster = cluster
        self._chance = random.Random(seed)
        self.replicas = 4

    async def make_trouble(self):
        await self._here.runtime.sleep(self._chance.uniform(0.0, 3.0))
        await self._chance.choice([self._scale, self._change_image, self._delete_pod, self._fail])()

    async def _patch(self, spec):
        await self._here.client.patch(DEPLOYMENTS, "web", {"spec": spec}, NAMESPACE)

    async def _scale(self):
        self.replicas = self._chance.randint(0, MOST_REPLICAS)
        await self._patch({"replicas": self.replicas})

    async def _change_image(self):
        container = {"name": "web", "image": f"nginx:{self._chance.randint(1, 3)}"}
        await self._patch({"template": {"spec": {"containers": [container]}}})

    async def _delete_pod(self):
        pods = await self._here.pods()
        if pods:
            await self._here.client.delete(PODS, name_of(self._chance.choice(pods)), NAMESPACE)

    async def _fail(self):
        self._cluster.fail()
        await self._here.runtime.sleep(self._chance.uniform(0.0, 20.0))
        self._cluster.heal()


@pytest.mark.looptime
@pytest.mark.parametrize("seed", range(2))
async def test_a_cluster_converges_once_its_troubles_end(seed):
    async with world(seed=seed) as here:
        wires = []

        def badly(transport):
            wires.append(Wire(transport, here.runtime, lag_seconds=(0.0, 0.02, 0.3)[seed % 3], lost=0.3))
            return wires[-1]

        cluster = here.cluster(wrap=badly)
        async with PodHistory(here).watching() as history, running(cluster):
            await here.client.create(DEPLOYMENTS, deployment(4))
            trouble = Troublemaker(here, cluster, seed)
            for _ in range(12):
                await trouble.make_trouble()
            wires[0].lost = 0.0
            await here.available(trouble.replicas, seconds=300.0)
            await here.runtime.sleep(30.0)
            await here.available(trouble.replicas, seconds=1.0)
            left = (await here.client.list(PODS, NAMESPACE)).items
        assert len(left) == len({pod["status"]["podIP"] for pod in left}) == trouble.replicas
        assert history.most <= MOST_PODS
