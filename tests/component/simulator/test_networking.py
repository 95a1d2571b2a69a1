"""Services on a simulated cluster: addresses, endpoints, and somebody who answers."""

import asyncio
import socket

import pytest

from hanse.kube import SystemRuntime
from hanse.kube.manifest import labels_of, name_of, uid_of
from hanse.kube.resources import DEPLOYMENTS, ENDPOINT_SLICES, ENDPOINTS, PODS, SERVICES
from tests.component.simulator.harness import NAMESPACE, deployment, running, world


def service(name="web", port=80, **spec):
    ports = [{"port": port, "targetPort": 8080}]
    chosen = {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": ports, **spec}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": chosen}


def address(found):
    ingress = ((found.get("status") or {}).get("loadBalancer") or {}).get("ingress") or [{}]
    return ingress[0].get("ip", "")


def ready_addresses(endpoint_slice):
    return {entry["addresses"][0] for entry in endpoint_slice.get("endpoints") or () if entry["conditions"]["ready"]}


@pytest.mark.looptime
async def test_a_load_balancer_has_an_address_of_its_clusters_pool_within_half_a_second():
    async with world() as here, running(here.cluster(index=4)):
        await here.client.create(SERVICES, service())
        found = await here.until(SERVICES, "web", address, seconds=0.5)
        assert address(found) == "127.14.0.1"


@pytest.mark.looptime
async def test_other_services_get_no_address_and_a_changed_mind_gives_it_back():
    async with world() as here, running(here.cluster()):
        await here.client.create(SERVICES, service("inner", type="ClusterIP"))
        await here.client.create(SERVICES, service("foreign", loadBalancerClass="example.com/other"))
        await here.client.create(SERVICES, service("web"))
        await here.until(SERVICES, "web", address)
        await here.client.patch(SERVICES, "web", {"spec": {"type": "ClusterIP"}}, NAMESPACE)
        await here.until(SERVICES, "web", lambda found: not address(found))
        await here.runtime.sleep(1.0)
        assert {address(found) for found in (await here.client.list(SERVICES, NAMESPACE)).items} == {""}


@pytest.mark.looptime
async def test_addresses_stay_the_same_when_the_cluster_starts_again():
    async with world() as here:
        async with running(here.cluster()):
            for name in ("a", "b", "c"):
                await here.client.create(SERVICES, service(name))
                await here.until(SERVICES, name, address)
            await here.client.delete(SERVICES, "a", NAMESPACE)
            await here.runtime.sleep(0.5)
        async with running(here.cluster()):
            await here.client.create(SERVICES, service("d"))
            fourth = await here.until(SERVICES, "d", address)
            found = {name_of(entry): address(entry) for entry in (await here.client.list(SERVICES, NAMESPACE)).items}
        assert (found["b"], found["c"]) == ("127.10.0.2", "127.10.0.3")
        assert address(fourth) not in (found["b"], found["c"])


@pytest.mark.looptime
async def test_endpoints_follow_the_ready_pods():
    async with world() as here, running(here.cluster()):
        await here.client.create(SERVICES, service())
        await here.client.create(DEPLOYMENTS, deployment(3))
        await here.available(3)
        await here.runtime.sleep(1.0)
        [endpoint_slice] = [
            entry
            for entry in (await here.client.list(ENDPOINT_SLICES, NAMESPACE)).items
            if labels_of(entry).get("kubernetes.io/service-name") == "web"
        ]
        addresses = {pod["status"]["podIP"] for pod in await here.pods()}
        assert ready_addresses(endpoint_slice) == addresses
        assert [(port["port"], port["protocol"]) for port in endpoint_slice["ports"]] == [(8080, "TCP")]
        endpoints = await here.client.get(ENDPOINTS, "web", NAMESPACE)
        assert {entry["ip"] for entry in endpoints["subsets"][0]["addresses"]} == addresses
        await here.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}}, NAMESPACE)
        await here.available(0)
        await here.runtime.sleep(1.0)
        emptied = await here.client.get(ENDPOINT_SLICES, name_of(endpoint_slice), NAMESPACE)
        assert ready_addresses(emptied) == set()
        assert not (await here.client.get(ENDPOINTS, "web", NAMESPACE)).get("subsets")


@pytest.mark.looptime
async def test_a_named_target_port_is_looked_up_in_the_pods():
    ports = {"container": {"ports": [{"name": "http", "containerPort": 9090}]}}
    async with world() as here, running(here.cluster()):
        await here.client.create(SERVICES, service(ports=[{"port": 80, "targetPort": "http"}]))
        await here.client.create(DEPLOYMENTS, deployment(1, pod=ports))
        found = await here.until(ENDPOINT_SLICES, "web-0", ready_addresses)
        assert [port["port"] for port in found["ports"]] == [9090]


@pytest.mark.looptime
async def test_endpoints_go_with_their_service():
    async with world() as here, running(here.cluster()):
        await here.client.create(SERVICES, service())
        await here.until(ENDPOINTS, "web", lambda _found: True)
        await here.client.delete(SERVICES, "web", NAMESPACE)
        await here.runtime.sleep(2.0)
        assert await here.client.find(ENDPOINTS, "web", NAMESPACE) is None
        assert await here.client.find(ENDPOINT_SLICES, "web-0", NAMESPACE) is None


def free_port(host):
    with socket.socket() as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


async def ask(host, port):
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET / HTTP/1.1\r\nHost: web\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    return answer


async def ask_until_answered(host, port):
    async with asyncio.timeout(5.0):
        while True:
            try:
                return await ask(host, port)
            except OSError:
                await asyncio.sleep(0.01)


async def until_refused(host, port):
    async with asyncio.timeout(5.0):
        while True:
            try:
                await ask(host, port)
            except ConnectionRefusedError:
                return True


async def test_a_load_balancer_answers_for_ready_pods_and_falls_silent_with_its_cluster():
    host = "127.249.0.1"
    port = free_port(host)
    async with (
        world(runtime=SystemRuntime()) as here,
        running(here.cluster(pod_start_seconds=(0.0, 0.0), index=239)) as cluster,
    ):
        await here.client.create(SERVICES, service(port=port))
        await here.until(SERVICES, "web", address)
        assert (await ask_until_answered(host, port)).startswith("HTTP/1.1 503 Service Unavailable\r\n")
        await here.client.create(DEPLOYMENTS, deployment(1))
        await here.available(1)
        [pod] = await here.pods()
        answer = await ask(host, port)
        assert answer.startswith("HTTP/1.1 200 OK\r\n")
        assert answer.endswith(f"cluster: us-east\nservice: web\nnamespace: default\npod: {name_of(pod)}\n")
        cluster.fail()
        assert await until_refused(host, port)
        cluster.heal()
        await cluster.ready()
        assert (await ask_until_answered(host, port)).startswith("HTTP/1.1 200 OK\r\n")


@pytest.mark.looptime
async def test_endpoints_that_a_person_wrote_are_mirrored_and_the_mirror_follows_them():
    def leading_to(address):
        metadata = {"name": "by-hand", "namespace": NAMESPACE}
        subsets = [{"addresses": [{"ip": address}], "ports": [{"port": 80}]}]
        return {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}

    async with world() as here, running(here.cluster()):
        await here.client.create(SERVICES, service("by-hand", type="ClusterIP", selector=None))
        await here.client.create(ENDPOINTS, leading_to("10.1.2.3"))
        mirror = await here.until(ENDPOINT_SLICES, "by-hand-mirror-0", ready_addresses)
        assert ready_addresses(mirror) == {"10.1.2.3"}
        assert labels_of(mirror)["kubernetes.io/service-name"] == "by-hand"
        await here.client.patch(ENDPOINTS, "by-hand", {"subsets": leading_to("10.2.3.4")["subsets"]}, NAMESPACE)
        await here.until(ENDPOINT_SLICES, "by-hand-mirror-0", lambda found: ready_addresses(found) == {"10.2.3.4"})
        await here.client.delete(ENDPOINTS, "by-hand", NAMESPACE)
        await here.until_gone(ENDPOINT_SLICES)


@pytest.mark.looptime
async def test_pods_that_give_one_port_name_different_numbers_are_told_apart():
    def named(name, number):
        container = {"name": "app", "image": "nginx", "ports": [{"name": "http", "containerPort": number}]}
        metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app": "web"}}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}

    async with world() as here, running(here.cluster()):
        await here.client.create(SERVICES, service(type="ClusterIP", ports=[{"port": 80, "targetPort": "http"}]))
        for name, number in (("a", 3000), ("b", 3001)):
            await here.client.create(PODS, named(name, number))
        found = await here.until(ENDPOINTS, "web", lambda obj: len(obj.get("subsets") or ()) == 2)
        assert [subset["ports"][0]["port"] for subset in found["subsets"]] == [3000, 3001]
        second = await here.until(ENDPOINT_SLICES, "web-1", ready_addresses)
        assert second["ports"][0]["port"] == 3001


@pytest.mark.looptime
async def test_a_slice_that_somebody_deletes_is_made_anew():
    async with world() as here, running(here.cluster()):
        await here.client.create(SERVICES, service(type="ClusterIP"))
        first = await here.until(ENDPOINT_SLICES, "web-0", lambda found: found)
        await here.client.delete(ENDPOINT_SLICES, "web-0", NAMESPACE)
        again = await here.until(ENDPOINT_SLICES, "web-0", lambda found: found["metadata"]["uid"] != uid_of(first))
        assert name_of(again) == "web-0"
