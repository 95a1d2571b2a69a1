"""Nodes, scheduling and the life of pods on a simulated cluster."""

import pytest

from hanse.kube.conditions import is_true
from hanse.kube.errors import BadRequest
from hanse.kube.manifest import labels_of, name_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, EVENTS, LEASES, NODES, PODS, SERVICES
from tests.component.simulator.harness import NAMESPACE, Wire, condition_of, deployment, running, world

pytestmark = pytest.mark.looptime


def bare_pod(name="solo", **spec):
    container = {"name": "main", "image": "busybox:1"}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def asking(cpu):
    return {"container": {"resources": {"requests": {"cpu": cpu}}}}


def running_pod(pod):
    return (pod.get("status") or {}).get("phase") == "Running"


def scheduling_of(pod):
    return condition_of(pod, "PodScheduled")


def restarted(times):
    return lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] == times


async def renew_times(here):
    return {
        name_of(lease): lease["spec"]["renewTime"]
        for lease in (await here.client.list(LEASES, "kube-node-lease")).items
    }


async def test_nodes_are_ready_and_say_where_they_are():
    async with world() as here, running(here.cluster(nodes=3, cpu="4", memory="8Gi", pods=20)):
        nodes = (await here.client.list(NODES)).items
        assert [name_of(node) for node in nodes] == ["us-east-node-1", "us-east-node-2", "us-east-node-3"]
        assert all(is_true(node["status"]["conditions"], "Ready") for node in nodes)
        assert [labels_of(node)["topology.kubernetes.io/zone"] for node in nodes] == ["us-a", "us-b", "us-a"]
        assert {labels_of(node)["topology.kubernetes.io/region"] for node in nodes} == {"us"}
        assert [labels_of(node)["kubernetes.io/hostname"] for node in nodes] == [name_of(node) for node in nodes]
        wanted = {"cpu": "4", "memory": "8Gi", "pods": "20", "ephemeral-storage": "100Gi"}
        assert all(node["status"]["allocatable"] == node["status"]["capacity"] == wanted for node in nodes)


@pytest.mark.parametrize(("nodes", "seconds"), [(20, 10.0), (21, 20.0)])
async def test_nodes_of_large_clusters_renew_their_leases_less_often(nodes, seconds):
    async with world() as here, running(here.cluster(nodes=nodes)):
        before = await renew_times(here)
        await here.runtime.sleep(seconds - 1.0)
        assert await renew_times(here) == before
        await here.runtime.sleep(2.0)
        assert all(time > before[name] for name, time in (await renew_times(here)).items())


async def test_a_node_that_loses_its_labels_or_is_called_unknown_is_put_right():
    async with world() as here, running(here.cluster(nodes=1)):
        broken = {
            "type": "Ready",
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "",
            "lastTransitionTime": None,
        }
        node = await here.client.get(NODES, "us-east-node-1")
        conditions = [{**broken, "lastTransitionTime": node["metadata"]["creationTimestamp"]}]
        await here.client.patch(NODES, "us-east-node-1", {"status": {"conditions": conditions}}, subresource="status")
        await here.client.patch(
            NODES, "us-east-node-1", {"metadata": {"labels": {"topology.kubernetes.io/zone": None}}}
        )
        await here.runtime.sleep(1.0)
        node = await here.client.get(NODES, "us-east-node-1")
        assert is_true(node["status"]["conditions"], "Ready")
        assert labels_of(node)["topology.kubernetes.io/zone"] == "us-a"


async def test_a_steady_cluster_writes_nothing_but_its_leases():
    async with world() as here:
        wires = []

        def counted(transport):
            wires.append(Wire(transport, here.runtime))
            return wires[-1]

        async with running(here.cluster(wrap=counted)):
            await here.client.create(DEPLOYMENTS, deployment(5))
            await here.available(5)
            await here.runtime.sleep(5.0)
            wires[0].requests.clear()
            before = await renew_times(here)
            await here.runtime.sleep(100.0)
            assert {method for method, _ in wires[0].requests} == {"PATCH"}
            assert all("/leases/" in path for _, path in wires[0].requests)
            assert len(wires[0].requests) == 30
            assert all(time > before[name] for name, time in (await renew_times(here)).items())


async def test_starting_again_on_a_settled_cluster_changes_nothing():
    ports = [{"port": 80, "name": "http"}, {"port": 81, "name": "admin", "targetPort": "web"}]
    spec = {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": ports}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": NAMESPACE}, "spec": spec}
    async with world() as here:
        async with running(here.cluster()):
            await here.client.create(SERVICES, service)
            await here.client.create(DEPLOYMENTS, deployment(3))
            await here.available(3)
            await here.runtime.sleep(5.0)
        wires = []

        def counted(transport):
            wires.append(Wire(transport, here.runtime))
            return wires[-1]

        async with running(here.cluster(wrap=counted)):
            await here.runtime.sleep(5.0)
        writes = [(method, path) for method, path in wires[0].requests if method != "GET" and "/leases/" not in path]
        assert writes == []


async def test_a_pod_is_created_then_running_and_ready_with_addresses():
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, bare_pod(initContainers=[{"name": "first", "image": "busybox:1"}]))
        creating = await here.until(PODS, "solo", lambda pod: (pod.get("status") or {}).get("containerStatuses"))
        assert creating["status"]["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
        pod = await here.until(PODS, "solo", running_pod, seconds=2.0)
        status = pod["status"]
        node = await here.client.get(NODES, pod["spec"]["nodeName"])
        assert status["hostIP"] == node["status"]["addresses"][0]["address"]
        assert status["podIP"].startswith("10.1.")
        assert is_true(status["conditions"], "Ready")
        assert scheduling_of(pod)["status"] == "True"
        [container] = status["containerStatuses"]
        assert (container["ready"], container["restartCount"], container["image"]) == (True, 0, "busybox:1")
        assert status["initContainerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"


async def test_a_deleted_pod_ends_gracefully_and_soon():
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, bare_pod())
        await here.until(PODS, "solo", running_pod)
        began = here.runtime.monotonic()
        await here.client.delete(PODS, "solo", NAMESPACE)
        assert (await here.client.get(PODS, "solo", NAMESPACE))["metadata"]["deletionTimestamp"]
        await here.until_gone(PODS)
        assert here.runtime.monotonic() - began < 1.0


async def test_a_pod_that_fits_nowhere_says_why_and_is_placed_once_there_is_room():
    async with world() as here, running(here.cluster(nodes=3, cpu="2")):
        await here.client.create(DEPLOYMENTS, deployment(3, name="full", pod=asking("1500m")))
        await here.available(3, name="full")
        await here.client.create(PODS, bare_pod(containers=[{"name": "c", "image": "x:1", **asking("1")["container"]}]))
        refused = await here.until(PODS, "solo", lambda pod: scheduling_of(pod).get("status") == "False")
        assert scheduling_of(refused)["reason"] == "Unschedulable"
        assert scheduling_of(refused)["message"] == (
            "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are "
            "available: 3 No preemption victims found for incoming pod."
        )
        events = (await here.client.list(EVENTS, NAMESPACE)).items
        assert "FailedScheduling" in {event["reason"] for event in events}
        await here.client.delete(DEPLOYMENTS, "full", NAMESPACE)
        await here.until(PODS, "solo", running_pod, seconds=5.0)


async def test_a_cordoned_cluster_takes_no_pods_until_it_is_uncordoned():
    async with world() as here, running(here.cluster(nodes=1)):
        await here.client.patch(NODES, "us-east-node-1", {"spec": {"unschedulable": True}})
        await here.runtime.sleep(0.5)
        await here.client.create(PODS, bare_pod())
        refused = await here.until(PODS, "solo", lambda pod: scheduling_of(pod).get("status") == "False")
        assert "1 node(s) were unschedulable" in scheduling_of(refused)["message"]
        await here.client.patch(NODES, "us-east-node-1", {"spec": {"unschedulable": None}})
        await here.until(PODS, "solo", running_pod, seconds=5.0)


async def test_a_node_selector_is_obeyed():
    async with world() as here, running(here.cluster()):
        await here.client.create(PODS, bare_pod(nodeSelector={"topology.kubernetes.io/zone": "us-b"}))
        pod = await here.until(PODS, "solo", running_pod)
        assert pod["spec"]["nodeName"] == "us-east-node-2"


async def test_a_crashed_container_restarts_at_once_then_after_longer_and_longer_pauses():
    async with world() as here, running(here.cluster()) as cluster:
        await here.client.create(PODS, bare_pod())
        before = await here.until(PODS, "solo", running_pod)
        pauses = []
        for crash in (1, 2, 3):
            began = here.runtime.monotonic()
            await cluster.crash_pod(NAMESPACE, "solo")
            back = await here.until(PODS, "solo", restarted(crash), seconds=60.0)
            pauses.append(here.runtime.monotonic() - began)
            assert back["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1
            assert is_true(back["status"]["conditions"], "Ready")
        assert pauses[0] < 2.0 < 10.0 < pauses[1] < 13.0 < 20.0 < pauses[2]
        assert uid_of(back) == uid_of(before)
        assert back["status"]["podIP"] == before["status"]["podIP"]


async def test_a_pod_that_must_not_restart_fails():
    async with world() as here, running(here.cluster()) as cluster:
        await here.client.create(PODS, bare_pod(restartPolicy="Never"))
        await here.until(PODS, "solo", running_pod)
        await cluster.crash_pod(NAMESPACE, "solo")
        await here.runtime.sleep(30.0)
        assert (await here.client.get(PODS, "solo", NAMESPACE))["status"]["phase"] == "Failed"


async def test_logs_tell_where_a_container_runs():
    async with world() as here, running(here.cluster()) as cluster:
        await here.client.create(PODS, bare_pod())
        with pytest.raises(BadRequest, match='container "main" in pod "solo" is waiting to start: ContainerCreating'):
            await cluster.pod_logs(NAMESPACE, "solo", {})
        pod = await here.until(PODS, "solo", running_pod)
        first = f"started busybox:1 on node {pod['spec']['nodeName']} of cluster us-east\n"
        assert (await cluster.pod_logs(NAMESPACE, "solo", {})).decode().startswith(first)
        assert await cluster.pod_logs(NAMESPACE, "solo", {"tailLines": "0"}) == b""
        with pytest.raises(BadRequest, match='previous terminated container "main" in pod "solo" not found'):
            await cluster.pod_logs(NAMESPACE, "solo", {"previous": "true"})


async def test_a_failed_cluster_stands_still_and_goes_on_when_healed():
    async with world() as here, running(here.cluster()) as cluster:
        await here.client.create(DEPLOYMENTS, deployment(3))
        await here.available(3)
        before = {uid_of(pod) for pod in await here.pods()}
        cluster.fail()
        await here.runtime.sleep(0.1)
        leases = await renew_times(here)
        await here.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 4}}, NAMESPACE)
        await here.runtime.sleep(60.0)
        assert await renew_times(here) == leases
        assert {uid_of(pod) for pod in await here.pods()} == before
        cluster.heal()
        await here.available(4, seconds=3.0)
        assert before < {uid_of(pod) for pod in await here.pods()}
        assert await renew_times(here) != leases


async def test_a_cluster_is_back_soon_after_its_api_server_however_long_that_was_away():
    async with world() as here, running(here.cluster(as_remote=True)):
        await here.client.create(DEPLOYMENTS, deployment(3))
        await here.available(3)
        await here.server.stop_serving()
        await here.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}, NAMESPACE)
        await here.runtime.sleep(180.0)
        leases = await renew_times(here)
        assert len(await here.pods()) == 3
        here.server.resume()
        await here.available(5, seconds=20.0)
        assert all(time > leases[name] for name, time in (await renew_times(here)).items())


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3, 0.7, 0.9])
async def test_a_cluster_killed_at_any_moment_is_taken_over_where_it_was(seconds):
    async with world() as here:
        async with running(here.cluster(pod_start_seconds=(0.2, 1.0))):
            await here.client.create(DEPLOYMENTS, deployment(6))
            await here.runtime.sleep(seconds)
        left = {uid_of(pod): pod for pod in await here.pods()}
        async with running(here.cluster(pod_start_seconds=(0.2, 1.0))):
            await here.available(6)
        after = {uid_of(pod): pod for pod in await here.pods()}
        assert len(after) == 6
        assert set(left) <= set(after)
        assert all(after[uid] == pod for uid, pod in left.items() if running_pod(pod))


async def test_many_pods_are_placed_within_what_the_nodes_have():
    async with world() as here, running(here.cluster(nodes=5, cpu="4", pods=60)):
        await here.client.create(DEPLOYMENTS, deployment(100, pod=asking("200m")))
        await here.available(100)
        nodes = [pod["spec"]["nodeName"] for pod in await here.pods()]
        assert {nodes.count(node) for node in set(nodes)} == {20}
