"""The real CoreDNS, configured by Hanse, finds the local Service first and then the others'.

Numbers are lines of the federation-v1 checklist: federation `federation`, domain example.com, a cluster in zone us-a of
region us.
"""

import json
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from hanse.api.mcs import MCS_CRDS
from hanse.kube.manifest import Key
from hanse.kube.runtime import SystemRuntime
from hanse.services.dns.server import DnsServer
from hanse.services.dns.zone import Zone
from hanse.services.dns.zones import Zones
from hanse.services.geography.atlas import Atlas
from hanse.services.mcs.exports import Export, ExportedPort
from hanse.services.mcs.imports import import_manifest
from hanse.services.mcs.merging import merge
from hanse.services.mcs.planning import Held, View, plan
from hanse.services.naming import Federation
from hanse.services.presence import FederatedService, Place, Presence
from hanse.services.records import records_of
from hanse.services.resolution.corefile import MemberDns, corefile_part
from tests.kubernetes.real import HOST, RealCluster, real_clusters
from tests.kubernetes.real.ports import free_port
from tests.kubernetes.services.coredns import CoreDns, find_coredns, start_coredns

FEDERATION = Federation("federation", "example.com")
US, EU = Place("c-us", "us", ("us-a",)), Place("c-eu", "eu", ("eu-a",))
NGINX = Key("default", "nginx")
ASKED = "nginx.default.federation.svc.cluster.local"
ZONE = "nginx.default.federation.svc.us-a.us.example.com"
REGION = "nginx.default.federation.svc.us.example.com"
EVERYWHERE = "nginx.default.federation.svc.example.com"
OUTSIDE = "nginx.default.federation.example.com"


@dataclass(frozen=True, slots=True)
class Member:
    cluster: RealCluster
    dns: CoreDns
    federation_port: int

    def apply(self, *manifests):
        self.cluster.kubectl(
            "apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
        )


@pytest.fixture(scope="module")
def member() -> Iterator[Member]:
    find_coredns()
    with real_clusters({"c-us": HOST}) as clusters:
        cluster = clusters["c-us"]
        cluster.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": MCS_CRDS}))
        cluster.wait_served()
        port, inner, beyond = free_port(), free_port(), free_port()
        access = (f"kubeconfig {cluster.kubeconfig}",)
        part = corefile_part(
            MemberDns(
                US,
                FEDERATION,
                (f"127.0.0.1:{beyond}",),
                imports_services=True,
                port=port,
                inner_port=inner,
                access=access,
            )
        )
        own = f".:{port} {{\n    kubernetes cluster.local {{\n        {access[0]}\n    }}\n}}\n"
        yield Member(cluster, start_coredns(cluster, own + part, port), beyond)


@asynccontextmanager
async def answering(member, *presences):
    """Have the built-in server answer for the federation."""
    zone = Zone("example.com")
    zone.replace(NGINX, records_of(FederatedService(NGINX, presences=presences), FEDERATION, {"c-us": US, "c-eu": EU}))
    zone.commit(1.0)
    server = DnsServer(Zones(zone, atlas=Atlas({"c-us": US, "c-eu": EU})), SystemRuntime())
    await server.start("127.0.0.1", member.federation_port)
    try:
        yield
    finally:
        await server.close()


def service(name="nginx", **spec):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"ports": [{"name": "http", "port": 80}], **spec},
    }


def endpoints(*addresses):
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "nginx-1",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "nginx"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}} for address in addresses],
        "ports": [{"name": "http", "port": 8080}],
    }


async def test_a_pod_finds_the_local_service_first_and_the_others_when_it_has_no_endpoint(member):
    """Lines 87, 88 and 91; CoreDNS tells the address itself where kube-dns told a CNAME to the local name."""
    member.apply(service(clusterIP="10.96.0.77"), endpoints("10.1.0.1"))
    us, eu = Presence("c-us", ("1.1.1.1",), ("10.96.0.77",)), Presence("c-eu", ("2.2.2.2",))
    async with answering(member, us, eu):
        await member.dns.until(ASKED, [("A", "10.96.0.77")])
        assert (await member.dns.ask(ASKED))[1] == [(ASKED, "A", "10.96.0.77")]
        # Who asks by the federation's own name is known as one of this cluster, too.
        assert [value for _, _, value in (await member.dns.ask(OUTSIDE))[1]] == ["10.96.0.77", "2.2.2.2"]

    # The federation's DNS is away, and the local Service is found all the same.
    assert (await member.dns.ask(ASKED))[1] == [(ASKED, "A", "10.96.0.77")]

    member.apply(endpoints())
    async with answering(member, Presence("c-us", ("1.1.1.1",), serving=False), eu):
        await member.dns.until(ASKED, [("CNAME", ZONE), ("CNAME", REGION), ("CNAME", EVERYWHERE), ("A", "2.2.2.2")])
        assert (await member.dns.ask(ASKED))[1][0] == (ASKED, "CNAME", ZONE)

    member.apply(endpoints("10.1.0.2"))
    await member.dns.until(ASKED, [("A", "10.96.0.77")])


async def test_names_of_no_federation_and_plain_names_are_the_clusters_own(member):
    """Line 89."""
    member.apply(service(clusterIP="10.96.0.77"), endpoints("10.1.0.1"))
    await member.dns.until("nginx.default.svc.cluster.local", [("A", "10.96.0.77")])

    assert await member.dns.ask("nginx.default.other.svc.cluster.local") == ("NXDOMAIN", [])
    assert await member.dns.ask("x.nginx.default.federation.svc.cluster.local") == ("NXDOMAIN", [])


async def test_an_imported_service_has_its_name_in_the_cluster_set(member):
    """CoreDNS itself reads ServiceImports and the slices that came from other clusters."""
    export = Export("c-eu", "2026-01-01T00:00:00Z", ports=(ExportedPort("http", "TCP", 80),), families=("IPv4",))
    given = {"spec": {"clusterIPs": ["10.96.0.88"], "ipFamilies": ["IPv4"]}}
    member.apply(import_manifest(NGINX, merge([export]), given))
    await member.dns.until("nginx.default.svc.clusterset.local", [("A", "10.96.0.88")])
    found = await member.dns.ask("_http._tcp.nginx.default.svc.clusterset.local", "SRV")
    assert [value.split()[2:] for _, _, value in found[1]] == [["80", "nginx.default.svc.clusterset.local"]]

    headless = Export("c-eu", "2026-01-01T00:00:00Z", "Headless", export.ports, ("IPv4",))
    pod = {"addresses": ["10.2.0.5"], "hostname": "db-0", "conditions": {"ready": True}}
    source = {
        "metadata": {"name": "db-x"},
        "addressType": "IPv4",
        "endpoints": [pod],
        "ports": [{"name": "http", "port": 8080}],
    }
    key = Key("default", "db")
    planned = plan(View(key, exports={"c-eu": headless}, slices={"c-eu": [source]}), Held("c-us"))
    member.apply(planned.import_, *planned.slices)
    await member.dns.until("db.default.svc.clusterset.local", [("A", "10.2.0.5")])
    await member.dns.until("db-0.c-eu.db.default.svc.clusterset.local", [("A", "10.2.0.5")])
