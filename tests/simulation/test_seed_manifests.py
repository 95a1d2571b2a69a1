"""The manifests of examples/federation-v1, as they are, on clusters of every provider, on virtual time.

Numbers are the lines of docs/reference/federation-v1.md.
"""

from pathlib import Path

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.plain_kinds import REPLICATION_CONTROLLERS
from hanse.cli.yaml_files import read_manifests
from hanse.kube.manifest import dig
from hanse.kube.resources import CONFIGMAPS, SERVICES
from hanse.simulator.networking.providers import Provider
from tests.simulation.world import federation

pytestmark = pytest.mark.looptime

EXAMPLES = Path(__file__).parents[2] / "examples" / "federation-v1"
NAMESPACE = "my-namespace"
LABELS = {
    "e1": {"location": "europe", "environment": "prod"},
    "e2": {"location": "europe", "environment": "qa"},
    "u1": {"location": "us", "environment": "prod"},
}
PROVIDERS = {"e1": Provider.IP, "e2": Provider.HOSTNAME, "u1": Provider.NONE}


async def create(world, name):
    for manifest in read_manifests([EXAMPLES / f"{name}.yaml"], "--filename"):
        resource = await world.host.resource_of(manifest)
        namespace = {"namespace": "default"} if resource.namespaced else {}
        await world.host.create(resource, {**manifest, "metadata": {**namespace, **manifest["metadata"]}})


async def copies(world, resource, name, namespace):
    found = {cluster: await world.find(cluster, resource, name, namespace) for cluster in world.clusters}
    return {cluster: obj for cluster, obj in found.items() if obj is not None}


async def test_the_seeds_manifests_give_the_seeds_results_whoever_provides_the_clusters():
    """Lines 1, 2, 3, 21, 72, 74 and 80."""
    async with federation("e1") as world:
        for index, name in enumerate(("e2", "u1"), start=1):
            await world.add_member(name, index, PROVIDERS[name])
        for name, labels in LABELS.items():
            await world.host.patch(CLUSTERS, name, {"metadata": {"labels": labels}})
        for name in ("my-namespace", "my-service", "my-service-rc", "myconfig"):
            await create(world, name)

        async def two_each():
            found = await copies(world, REPLICATION_CONTROLLERS, "my-service", NAMESPACE)
            return {name: dig(obj, "status", "readyReplicas") for name, obj in found.items()} == dict.fromkeys(
                LABELS, 2
            )

        await world.until(two_each)

        async def addressed():
            source = await world.find("host", SERVICES, "my-service", NAMESPACE)
            return len(dig(source, "status", "loadBalancer", "ingress", default=[])) == 2

        await world.until(addressed)
        services = await copies(world, SERVICES, "my-service", NAMESPACE)
        source = await world.find("host", SERVICES, "my-service", NAMESPACE)
        assert set(services) == set(LABELS)
        for copy in services.values():
            assert [(port["name"], port["port"]) for port in copy["spec"]["ports"]] == [
                ("client", 2379),
                ("peer", 2380),
            ]
            assert copy["spec"]["clusterIP"] != source["spec"]["clusterIP"]
        assert len({copy["spec"]["clusterIP"] for copy in services.values()}) == 3
        by_ip, by_name = (dig(services[name], "status", "loadBalancer", "ingress")[0] for name in ("e1", "e2"))
        assert [by_name["hostname"], by_ip["ip"]] == [
            entry.get("hostname") or entry["ip"] for entry in source["status"]["loadBalancer"]["ingress"]
        ]
        assert not dig(services["u1"], "status", "loadBalancer", "ingress")

        async def config_is_in(*clusters):
            found = await copies(world, CONFIGMAPS, "myconfig", "default")
            assert all(obj["data"] == {"myconfigkey": "myconfigdata"} for obj in found.values())
            return tuple(found) == clusters

        await world.until(lambda: config_is_in("e1"))
        await world.host.patch(CLUSTERS, "e2", {"metadata": {"labels": {"environment": "prod"}}})
        assert await world.until(lambda: config_is_in("e1", "e2")) <= 2
        await world.host.patch(CLUSTERS, "e1", {"metadata": {"labels": {"location": None}}})
        assert await world.until(lambda: config_is_in("e2")) <= 2
