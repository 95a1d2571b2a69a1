"""Addresses as a cluster's provider tells them: of Services, Ingresses and Gateways."""

import pytest

from hanse.kube.resources import CRDS, SERVICES
from hanse.simulator.networking.gateways import GATEWAYS
from hanse.simulator.networking.ingresses import INGRESSES
from hanse.simulator.networking.providers import Provider
from tests.component.simulator.harness import NAMESPACE, condition_of, running, world

pytestmark = pytest.mark.looptime


def service(name="web"):
    spec = {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def ingress(name="web"):
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    metadata = {"name": name, "namespace": NAMESPACE}
    spec = {"defaultBackend": backend}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}


def gateway_kind():
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Gateway", "plural": "gateways", "singular": "gateway", "listKind": "GatewayList"}
    approval = {"api-approved.kubernetes.io": "unapproved, for a test"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gateways.gateway.networking.k8s.io", "annotations": approval},
        "spec": {
            "group": "gateway.networking.k8s.io",
            "scope": "Namespaced",
            "names": names,
            "versions": [{**version, "subresources": {"status": {}}}],
        },
    }


def told(found):
    entries = ((found.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return entries[0] if entries else None


@pytest.mark.parametrize(
    ("provider", "of_service", "of_ingress"),
    [
        (Provider.IP, {"ip": "127.13.0.1", "ipMode": "VIP"}, {"ip": "127.13.128.1"}),
        (
            Provider.HOSTNAME,
            {"hostname": "lb-127-13-0-1.us-east.hanse.test"},
            {"hostname": "lb-127-13-128-1.us-east.hanse.test"},
        ),
    ],
)
async def test_a_provider_gives_addresses_in_its_own_form(provider, of_service, of_ingress):
    async with world() as here:
        for _ in range(2):
            async with running(here.cluster(index=3, load_balancers=provider)):
                if not (await here.client.list(INGRESSES, NAMESPACE)).items:
                    await here.client.create(SERVICES, service())
                    await here.client.create(INGRESSES, ingress())
                assert told(await here.until(SERVICES, "web", told)) == of_service
                assert told(await here.until(INGRESSES, "web", told)) == of_ingress


async def test_a_cluster_without_load_balancers_leaves_services_waiting():
    async with world() as here, running(here.cluster(load_balancers=Provider.NONE)):
        await here.client.create(SERVICES, service())
        await here.client.create(INGRESSES, ingress())
        await here.runtime.sleep(10.0)
        assert told(await here.client.get(SERVICES, "web", NAMESPACE)) is None
        assert told(await here.client.get(INGRESSES, "web", NAMESPACE)) is None


async def test_a_gateway_gets_an_address_once_its_kind_is_installed():
    made = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "front", "namespace": NAMESPACE},
        "spec": {"gatewayClassName": "any", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    }
    async with world() as here, running(here.cluster(index=3)):
        await here.client.create(CRDS, gateway_kind())
        await here.until(
            CRDS,
            "gateways.gateway.networking.k8s.io",
            lambda found: condition_of(found, "Established").get("status") == "True",
            namespace="",
        )
        await here.client.create(GATEWAYS, made)
        found = await here.until(GATEWAYS, "front", lambda gateway: (gateway.get("status") or {}).get("addresses"))
        assert found["status"]["addresses"] == [{"type": "IPAddress", "value": "127.13.192.1"}]
        assert condition_of(found, "Programmed")["status"] == "True"
