"""One name for a service of many clusters, on virtual time: found, lost, found again; numbers are the sheet's lines."""

import json

import pytest

from hanse.api.federation import FEDERATIONS, federation_manifest
from hanse.api.kubefed.forms import FORM_D
from hanse.api.service_addresses import SERVICE_ADDRESSES
from hanse.kube.conditions import find_condition
from hanse.kube.errors import NotFound
from hanse.kube.manifest import annotations_of, dig
from hanse.kube.resources import DEPLOYMENTS, NAMESPACES, SERVICES, Resource
from hanse.services.addresses import parse_addresses
from tests.simulation.agents import federation_with_agents
from tests.simulation.world import deployment, federation

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

HOSTNAME = "my-service.my-namespace.my-federation.my-domain.com"
INGRESSES = "federation.kubernetes.io/service-ingresses"


def my_service(kind="LoadBalancer", **annotations):
    """The seed's manifest."""
    ports = [
        {"name": name, "port": port, "protocol": "TCP", "targetPort": port}
        for name, port in (("client", 2379), ("peer", 2380))
    ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "labels": {"run": "my-service"},
            "name": "my-service",
            "namespace": "my-namespace",
            "annotations": annotations,
        },
        "spec": {"ports": ports, "selector": {"app": "web"}, "type": kind},
    }


async def begin(world, service=None, *, named=True):
    """A federation with a name, the seed's namespace, pods everywhere and its service."""
    if named:
        await world.host.create(FEDERATIONS, federation_manifest("my-federation", "my-domain.com"))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "my-namespace"}}
    await world.host.create(NAMESPACES, namespace)
    pods = deployment(replicas=6)
    pods["metadata"]["namespace"] = "my-namespace"
    await world.host.create(DEPLOYMENTS, pods)
    await world.host.create(SERVICES, service or my_service())


async def addresses(world):
    found = await world.host.find(SERVICE_ADDRESSES, "my-service", "my-namespace")
    return None if found is None else parse_addresses(found)


async def served_by(world):
    found = await addresses(world)
    return "" if found is None else "".join(each.cluster for each in found.serving)


async def host_service(world):
    return await world.host.get(SERVICES, "my-service", "my-namespace")


def member_address(service):
    return dig(service, "status", "loadBalancer", "ingress", default=[{}])[0].get("ip")


async def until_served_by(world, clusters, seconds=60.0):
    async def served():
        return await served_by(world) == clusters

    return await world.until(served, seconds)


async def test_a_service_is_found_in_every_cluster_and_a_dead_one_is_out_within_20_seconds():
    async with federation() as world:
        await begin(world)
        await world.until(lambda: counted(world, 2, 2, 2))

        copies = {name: await world.find(name, SERVICES, "my-service", "my-namespace") for name in "abc"}
        found = await addresses(world)
        assert {each.cluster: each.addresses for each in found.presences} == {
            name: (member_address(copy),) for name, copy in copies.items()
        }
        assert {each.cluster: each.cluster_ips for each in found.presences} == {
            name: (copy["spec"]["clusterIP"],) for name, copy in copies.items()
        }
        await world.until(lambda: reason_is(world, "hanse.dev/EndpointsHealthy", "AllServe"))
        source = await host_service(world)
        assert dig(source, "status", "loadBalancer", "ingress") == [{"hostname": HOSTNAME}]
        assert json.loads(annotations_of(source)[INGRESSES]) == {
            "items": [{"cluster": name, "items": [{"ip": member_address(copies[name])}]} for name in "abc"]
        }
        assert all(INGRESSES not in annotations_of(copy) for copy in copies.values())

        await world.runtime.sleep(10)
        world.forget_writes()
        await world.runtime.sleep(30)
        assert world.writes() == {}

        await world.fail("b")
        assert await until_served_by(world, "ac") <= 20
        told = find_condition((await host_service(world))["status"]["conditions"], "hanse.dev/EndpointsHealthy")
        assert told["message"].startswith("b: the cluster is offline")

        world.heal("b")
        await until_served_by(world, "abc")


async def counted(world, *backends):
    found = await addresses(world)
    return found is not None and tuple(each.backends for each in found.presences) == backends


async def test_a_cluster_that_cannot_be_asked_keeps_what_it_had_over_a_restart_of_the_control_plane():
    async with federation("a", "b") as world:
        await begin(world)
        await until_served_by(world, "ab")
        before = await addresses(world)
        await world.fail("b")
        await until_served_by(world, "a")
        await world.kill_control_plane()
        world.start_control_plane()
        await world.runtime.sleep(12)
        (lost,) = [each for each in (await addresses(world)).presences if each.cluster == "b"]
        (had,) = [each for each in before.presences if each.cluster == "b"]
        assert (lost.addresses, lost.cluster_ips, lost.backends) == (had.addresses, had.cluster_ips, had.backends)
        assert not lost.serving
        entries = json.loads(annotations_of(await host_service(world))[INGRESSES])["items"]
        assert [entry["cluster"] for entry in entries] == ["a", "b"]


async def test_endpoints_alone_end_a_name_and_lost_clusters_never_do():
    async with federation("a", "b") as world:
        await begin(world)
        await until_served_by(world, "ab")
        await scale(world, 0)
        assert await until_served_by(world, "") <= 10
        await world.until(lambda: reason_is(world, "hanse.dev/DNSPublished", "NoEndpoints"))
        assert json.loads(annotations_of(await host_service(world))[INGRESSES]) == {
            "items": [{"cluster": name, "items": None} for name in "ab"]
        }

        await scale(world, 6)
        await until_served_by(world, "ab")
        await world.fail("a")
        await world.fail("b")
        await world.until(lambda: reason_is(world, "hanse.dev/EndpointsHealthy", "FailedOpen"))
        assert await served_by(world) == "ab"


async def scale(world, replicas):
    await world.host.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, "my-namespace")


async def reason_is(world, kind, reason):
    told = find_condition((await host_service(world))["status"].get("conditions"), kind)
    return told is not None and told["reason"] == reason


async def test_services_have_names_while_the_federation_has_one():
    async with federation("a") as world:
        await begin(world, named=False)
        await world.until(lambda: listed_as(world, "ip"))
        source = await host_service(world)
        assert (await addresses(world), annotations_of(source), source["status"].get("conditions")) == (None, {}, None)

        await world.host.create(FEDERATIONS, federation_manifest("my-federation", "my-domain.com"))
        await world.until(lambda: listed_as(world, "hostname"))
        await until_served_by(world, "a")
        await world.host.patch(FEDERATIONS, "federation", {"spec": {"subnets": [{"cidr": "no", "cluster": "a"}]}})
        await world.until(lambda: federation_says(world, "spec.subnets[0].cidr"))
        assert await served_by(world) == "a"

        await world.host.delete(FEDERATIONS, "federation")
        await world.until(lambda: listed_as(world, "ip"))
        await world.until(lambda: gone(world))
        source = await host_service(world)
        assert (annotations_of(source), source["status"].get("conditions")) == ({}, None)


async def listed_as(world, kind):
    (entry,) = dig(await host_service(world), "status", "loadBalancer", "ingress", default=[]) or [{}]
    return kind in entry


async def federation_says(world, sentence):
    told = dig(await world.host.get(FEDERATIONS, "federation"), "status", "conditions")
    return sentence in (find_condition(told, "Ready") or {}).get("message", "")


async def gone(world):
    return await addresses(world) is None


async def test_nothing_is_left_of_a_name_whose_service_ceases_to_have_one_or_to_be():
    async with federation("a") as world:
        await begin(world, my_service("ClusterIP"))
        await world.until(lambda: world.find("a", SERVICES, "my-service", "my-namespace"))
        await world.runtime.sleep(2)
        assert await addresses(world) is None

        await world.host.patch(SERVICES, "my-service", {"spec": {"type": "LoadBalancer"}}, "my-namespace")
        await until_served_by(world, "a")
        await world.host.patch(SERVICES, "my-service", {"spec": {"type": "NodePort"}}, "my-namespace")
        await world.until(lambda: gone(world))

        await world.host.patch(SERVICES, "my-service", {"spec": {"type": "LoadBalancer"}}, "my-namespace")
        await until_served_by(world, "a")
        await world.host.delete(SERVICES, "my-service", "my-namespace")
        await world.until(lambda: gone(world))
        with pytest.raises(NotFound):
            await host_service(world)


async def test_the_service_of_a_federated_type_is_found_as_well():
    kind = Resource(FORM_D.group, FORM_D.version, "federatedservices", "FederatedService")
    async with federation("a", "b", forms=(FORM_D,)) as world:
        await begin(world, my_service("ClusterIP"))
        await world.host.delete(SERVICES, "my-service", "my-namespace")
        plain = my_service()
        await world.host.create(
            kind,
            {
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": {"name": "my-service", "namespace": "my-namespace"},
                "spec": {"template": {"spec": plain["spec"]}, "placement": {"clusterSelector": {}}},
            },
        )
        await until_served_by(world, "ab")


async def test_a_cluster_that_fetches_its_work_is_led_to_by_what_its_agent_tells():
    async with federation_with_agents("a", "b") as world:
        await begin(world)
        await until_served_by(world, "ab")
        pulled = (await addresses(world)).presences[1]
        copy = await world.find("b", SERVICES, "my-service", "my-namespace")
        assert (pulled.addresses, pulled.backends) == ((member_address(copy),), None)
