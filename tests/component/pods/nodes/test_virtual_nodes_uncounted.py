"""A cluster with virtual nodes and placeholders on them is as large and as free as one without."""

import pytest

from hanse.api.names import SYSTEM_NAMESPACE
from hanse.cli.control_plane import federates_plain_objects
from hanse.clusters.probing import look_at_nodes, look_at_pods
from hanse.kube.resources import NAMESPACES, NODES, PODS
from hanse.simulator.metrics.readings import NODE_METRICS, POD_METRICS
from tests.component.simulator.harness import NAMESPACE, running, world

pytestmark = pytest.mark.looptime

LABELS = {"virtual-kubelet.io/provider": "admiralty", "type": "virtual-kubelet"}
VIRTUAL = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "admiralty-eu", "labels": LABELS},
    "spec": {"taints": [{"key": "virtual-kubelet.io/provider", "value": "admiralty", "effect": "NoSchedule"}]},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "allocatable": {"cpu": "1000"},
        "capacity": {"cpu": "1000"},
    },
}


def pod(name, **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


async def test_room_and_demand_are_those_of_the_machines():
    async with world() as here, running(here.cluster(nodes=2, cpu="4")) as cluster:
        here.server.compute(POD_METRICS, cluster.pod_metrics)
        here.server.compute(NODE_METRICS, cluster.node_metrics)
        await here.client.create(NODES, VIRTUAL)
        await here.client.create(PODS, pod("here"))
        await here.client.create(PODS, pod("elsewhere", nodeName="admiralty-eu", schedulerName="admiralty-proxy"))
        await here.until(PODS, "here", lambda obj: obj["status"].get("phase") == "Running")
        running_now = {"phase": "Running", "containerStatuses": [{"name": "c", "state": {"running": {}}}]}
        await here.client.patch(PODS, "elsewhere", {"status": running_now}, NAMESPACE, subresource="status")
        await here.runtime.sleep(1.0)

        topology = await look_at_nodes(here.client, 5.0)
        demand = await look_at_pods(here.client, 5.0)

        assert (topology.nodes, dict(topology.capacity)["cpu"]) == (2, "8")
        assert (demand.amounts["pods"], demand.amounts["cpu"]) == (1, 1)
        assert len((await here.client.list(NODE_METRICS)).items) == 2
        assert [one["metadata"]["name"] for one in (await here.client.list(POD_METRICS)).items] == ["here"]


async def test_a_host_is_dedicated_while_all_its_nodes_stand_for_other_clusters():
    async with world() as here:
        own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}}
        await here.client.create(NAMESPACES, own)
        await here.client.create(NODES, VIRTUAL)
        dedicated = await federates_plain_objects(here.client)
        await here.client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "machine"}})

        assert (dedicated, await federates_plain_objects(here.client)) == (True, False)


async def test_nothing_ordinary_is_scheduled_onto_a_virtual_node():
    async with world() as here, running(here.cluster(nodes=1, cpu="1")):
        await here.client.create(NODES, VIRTUAL)
        await here.client.create(
            PODS, pod("too-large", containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "3"}}}])
        )
        told = await here.until(PODS, "too-large", lambda obj: obj["status"].get("conditions"))

        assert "nodeName" not in told["spec"]
        assert "1 node(s) had untolerated taint(s)" in told["status"]["conditions"][0]["message"]
