"""What becomes of a cluster whose node dies, is cordoned, or is tainted."""

import pytest

from hanse.kube.conditions import find_condition, is_true
from hanse.kube.resources import DEPLOYMENTS, NODES, PODS
from tests.component.simulator.harness import NAMESPACE, condition_of, deployment, running, world

pytestmark = pytest.mark.looptime
LOST = "us-east-node-1"


def ready_status(node):
    return condition_of(node, "Ready").get("status")


def taint_keys(node):
    return {(taint["key"].partition("/")[2], taint["effect"]) for taint in node["spec"].get("taints") or ()}


async def until_node(here, holds, seconds=70.0):
    return await here.until(NODES, LOST, holds, namespace="", seconds=seconds)


async def test_a_node_that_falls_silent_is_unknown_its_pods_unready_and_replaced_and_it_can_come_back():
    async with world() as here, running(here.cluster(nodes=2)) as cluster:
        await here.client.create(DEPLOYMENTS, deployment(4))
        await here.available(4)
        began = here.runtime.monotonic()
        cluster.troubles.set(frozenset({LOST}), {})
        node = await until_node(here, lambda found: len(taint_keys(found)) == 2)
        assert 39.0 < here.runtime.monotonic() - began < 52.0
        assert {entry["status"] for entry in node["status"]["conditions"]} == {"Unknown"}
        assert condition_of(node, "Ready")["message"] == "Kubelet stopped posting node status."
        assert taint_keys(node) == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
        await here.runtime.sleep(5.0)
        there = [pod for pod in await here.pods() if pod["spec"]["nodeName"] == LOST]
        assert len(there) == 2
        assert not any(is_true(pod["status"]["conditions"], "Ready") for pod in there)
        await here.runtime.sleep(310.0)
        assert [pod["spec"]["nodeName"] for pod in await here.pods()] == ["us-east-node-2"] * 4
        leaving = (await here.client.list(PODS, NAMESPACE)).items
        assert sum(bool(pod["metadata"].get("deletionTimestamp")) for pod in leaving) == 2
        cluster.troubles.set(frozenset(), {})
        await until_node(here, lambda found: ready_status(found) == "True" and not taint_keys(found))
        await here.runtime.sleep(2.0)
        assert len((await here.client.list(PODS, NAMESPACE)).items) == 4


async def test_a_node_that_is_back_before_its_pods_were_evicted_keeps_them():
    async with world() as here, running(here.cluster(nodes=2)) as cluster:
        await here.client.create(DEPLOYMENTS, deployment(2))
        await here.available(2)
        before = {pod["metadata"]["uid"] for pod in await here.pods()}
        cluster.troubles.set(frozenset({LOST}), {})
        await until_node(here, lambda found: ready_status(found) == "Unknown")
        cluster.troubles.set(frozenset(), {})
        await here.available(2)
        await here.runtime.sleep(400.0)
        assert {pod["metadata"]["uid"] for pod in await here.pods()} == before


async def test_a_taint_that_evicts_empties_a_node_but_for_those_that_tolerate_it():
    tolerant = {
        "tolerations": [{"key": "broken", "operator": "Exists", "tolerationSeconds": 30, "effect": "NoExecute"}]
    }
    async with world() as here, running(here.cluster(nodes=1)):
        await here.client.create(DEPLOYMENTS, deployment(1, name="plain"))
        await here.client.create(DEPLOYMENTS, deployment(1, name="tolerant", pod=tolerant))
        await here.available(1, name="plain")
        await here.available(1, name="tolerant")
        taint = {"key": "broken", "effect": "NoExecute"}
        await here.client.patch(NODES, LOST, {"spec": {"taints": [taint]}})
        await here.runtime.sleep(3.0)
        pods = {pod["metadata"]["labels"]["app"]: pod for pod in await here.pods()}
        assert find_condition(pods["plain"]["status"]["conditions"], "PodScheduled")["status"] == "False"
        assert pods["tolerant"]["status"]["phase"] == "Running"
        first = pods["tolerant"]["metadata"]["uid"]
        await here.runtime.sleep(40.0)
        assert first not in {pod["metadata"]["uid"] for pod in await here.pods()}


async def test_a_cordoned_node_is_tainted_so_and_uncordoned_it_is_not():
    async with world() as here, running(here.cluster(nodes=1)):
        await here.client.patch(NODES, LOST, {"spec": {"unschedulable": True}})
        await until_node(here, lambda found: taint_keys(found) == {("unschedulable", "NoSchedule")})
        await here.client.patch(NODES, LOST, {"spec": {"unschedulable": None}})
        await until_node(here, lambda found: not taint_keys(found))


async def test_a_pod_of_high_priority_pushes_a_lesser_one_out():
    asks = {"containers": [{"name": "c", "image": "x:1", "resources": {"requests": {"cpu": "3"}}}]}
    urgent = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "urgent", "namespace": NAMESPACE}}
    first = {**urgent, "metadata": {"name": "humble", "namespace": NAMESPACE}, "spec": asks}
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    async with world() as here, running(here.cluster(nodes=1, cpu="4")):
        resource = await here.client.resource_of(priority)
        await here.client.create(resource, {**priority, "value": 1000})
        await here.client.create(PODS, first)
        await here.until(PODS, "humble", lambda pod: (pod.get("status") or {}).get("phase") == "Running")
        await here.client.create(PODS, {**urgent, "spec": {**asks, "priorityClassName": "high"}})
        placed = await here.until(PODS, "urgent", lambda pod: (pod.get("status") or {}).get("phase") == "Running")
        assert placed["spec"]["nodeName"] == LOST
        assert [pod["metadata"]["name"] for pod in await here.pods()] == ["urgent"]


async def test_gated_pods_and_those_of_other_schedulers_are_left_alone():
    plain = {"containers": [{"name": "c", "image": "x:1"}]}
    head = {"apiVersion": "v1", "kind": "Pod"}
    async with world() as here, running(here.cluster(nodes=1)):
        gated = {**plain, "schedulingGates": [{"name": "example.com/wait"}]}
        await here.client.create(PODS, {**head, "metadata": {"name": "gated", "namespace": NAMESPACE}, "spec": gated})
        other = {**plain, "schedulerName": "another"}
        await here.client.create(PODS, {**head, "metadata": {"name": "other", "namespace": NAMESPACE}, "spec": other})
        await here.runtime.sleep(5.0)
        found = {pod["metadata"]["name"]: pod for pod in await here.pods()}
        assert condition_of(found["gated"], "PodScheduled")["reason"] == "SchedulingGated"
        assert not condition_of(found["other"], "PodScheduled")
        assert not any(pod["spec"].get("nodeName") for pod in found.values())
        await here.client.patch(PODS, "gated", {"spec": {"schedulingGates": None}}, NAMESPACE)
        await here.until(PODS, "gated", lambda pod: (pod.get("status") or {}).get("phase") == "Running")
