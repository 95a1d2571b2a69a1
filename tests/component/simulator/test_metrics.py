"""metrics.k8s.io on a simulated cluster: what pods and nodes use, and autoscalers that act on it."""

import pytest

from hanse.kube.errors import ApiError, NotFound
from hanse.kube.resources import DEPLOYMENTS, SERVICES
from hanse.simulator.metrics.readings import NODE_METRICS, POD_METRICS
from hanse.simulator.workloads.kinds import AUTOSCALERS
from tests.component.simulator.harness import NAMESPACE, deployment, running, world

pytestmark = pytest.mark.looptime


def serving(here, **settings):
    """Make a cluster whose metrics its API server serves."""
    cluster = here.cluster(**settings)
    here.server.compute(POD_METRICS, cluster.pod_metrics)
    here.server.compute(NODE_METRICS, cluster.node_metrics)
    return cluster


def asking(cpu):
    return {"container": {"resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}}


def loaded_service(load):
    metadata = {"name": "web", "namespace": NAMESPACE, "annotations": {"simulator.hanse.dev/load": load}}
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


async def test_pods_share_the_load_of_their_service_and_nodes_sum_up_their_pods():
    async with world() as here, running(serving(here, nodes=2)):
        await here.client.create(DEPLOYMENTS, deployment(4, pod=asking("100m")))
        await here.client.create(SERVICES, loaded_service("2"))
        await here.available(4)
        await here.runtime.sleep(1.0)
        pods = (await here.client.list(POD_METRICS, NAMESPACE)).items
        assert [entry["containers"][0]["usage"] for entry in pods] == [{"cpu": "505m", "memory": "32768Ki"}] * 4
        nodes = {
            entry["metadata"]["name"]: entry["usage"]["cpu"] for entry in (await here.client.list(NODE_METRICS)).items
        }
        assert nodes == {"us-east-node-1": "1090m", "us-east-node-2": "1090m"}
        one = await here.client.get(POD_METRICS, pods[0]["metadata"]["name"], NAMESPACE)
        assert one["containers"] == pods[0]["containers"]
        chosen = await here.client.list(POD_METRICS, NAMESPACE, labels="app=other")
        assert chosen.items == []
        with pytest.raises(NotFound):
            await here.client.get(POD_METRICS, "nobody", NAMESPACE)
        with pytest.raises(ApiError, match="does not allow this method"):
            await here.client.create(POD_METRICS, pods[0])


async def test_an_autoscaler_follows_the_load():
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metric = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 10}
    autoscaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {**spec, "metrics": [{"type": "Resource", "resource": metric}]},
    }
    async with world() as here, running(serving(here)):
        await here.client.create(DEPLOYMENTS, deployment(1, pod=asking("200m")))
        await here.client.create(SERVICES, loaded_service("450m"))
        await here.available(1)
        await here.client.create(AUTOSCALERS, autoscaler)
        await here.available(5, seconds=300.0)
        await here.client.patch(
            SERVICES, "web", {"metadata": {"annotations": {"simulator.hanse.dev/load": "90m"}}}, NAMESPACE
        )
        await here.available(2, seconds=900.0)
