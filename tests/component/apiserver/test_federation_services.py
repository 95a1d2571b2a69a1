"""Services of a server that stands for no cluster: they have no address in one."""

from hanse.apiserver import ApiServer, Identity, MemoryStorage
from hanse.kube.client import Client
from hanse.kube.resources import SERVICES
from hanse.kube.runtime import SystemRuntime


def service(name, **spec):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}], **spec}}


async def test_the_federation_s_services_belong_to_no_cluster():
    runtime = SystemRuntime()
    server = await ApiServer.open(name="host", storage=MemoryStorage(), runtime=runtime, cluster_ips=False)
    try:
        client = Client(server.connect(Identity("admin", ("system:masters",))), runtime)
        made = await client.create(SERVICES, service("web", type="LoadBalancer"))
        assert not made["spec"].keys() & {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}
        assert made["spec"]["ports"][0]["nodePort"]

        changed = await client.patch(SERVICES, "web", {"spec": {"type": "ClusterIP"}}, "default")
        assert "clusterIP" not in changed["spec"]

        headless = await client.create(SERVICES, service("pods", clusterIP="None"))
        assert (headless["spec"]["clusterIP"], headless["spec"]["clusterIPs"]) == ("None", ["None"])
    finally:
        await server.close()
