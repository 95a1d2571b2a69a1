"""Services that clusters export are imported by the others, and lose no client with a lost cluster."""

from contextlib import asynccontextmanager

import pytest

from hanse.api.clusters import CLUSTERS
from hanse.api.mcs import MCS_ANNOTATION, SERVICE_EXPORTS, SERVICE_IMPORTS, SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL
from hanse.kube.conditions import find_condition
from hanse.kube.manifest import dig, labels_of
from hanse.kube.resources import DEPLOYMENTS, ENDPOINT_SLICES, NAMESPACES, SERVICES
from hanse.kube.runtime import SeededRuntime
from hanse.services.mcs.installing import serves_mcs
from tests.simulation.world import World, deployment

pytestmark = pytest.mark.looptime

LOST_WITHIN_SECONDS = 20


class ExportingWorld(World):
    """A federation whose clusters export services to each other."""

    async def takes_part(self, cluster, said="true"):
        await self.host.patch(CLUSTERS, cluster, {"metadata": {"annotations": {MCS_ANNOTATION: said}}})

    async def serve(self, cluster):
        """Have a cluster serve `web`, by two pods and a Service."""
        client = self.clients[cluster]
        await client.create(DEPLOYMENTS, deployment(replicas=2))
        await client.create(SERVICES, service())

    async def export(self, cluster, namespace="default"):
        await self.until(lambda: serves_mcs(self.clients[cluster]))
        named = {"name": "web", "namespace": namespace}
        made = {"apiVersion": SERVICE_EXPORTS.api_version, "kind": "ServiceExport", "metadata": named}
        await self.clients[cluster].create(SERVICE_EXPORTS, made)

    async def has_namespace(self, cluster, name):
        await self.clients[cluster].create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )

    async def imported(self, cluster, namespace="default"):
        return await self.find(cluster, SERVICE_IMPORTS, "web", namespace)

    async def sources(self, cluster):
        """Return from which clusters endpoints came, and how many of each."""
        listed = await self.clients[cluster].list(ENDPOINT_SLICES, "default", labels=f"{SERVICE_NAME_LABEL}=web")
        found = {}
        for entry in listed.items:
            source = labels_of(entry)[SOURCE_CLUSTER_LABEL]
            found[source] = found.get(source, 0) + len(entry.get("endpoints") or ())
        return found

    async def has_sources(self, cluster, **wanted):
        return await self.sources(cluster) == wanted

    async def comes_from(self, cluster, *sources):
        listed = dig(await self.imported(cluster), "status", "clusters", default=[])
        return [entry["cluster"] for entry in listed] == list(sources)

    async def holds_nothing(self, cluster):
        derived = await self.clients[cluster].list(SERVICES, "default", labels=SERVICE_NAME_LABEL)
        return not (await self.imported(cluster) or derived.items or await self.sources(cluster))

    async def says(self, cluster, condition):
        found = await self.find(cluster, SERVICE_EXPORTS, "web")
        told = find_condition(dig(found, "status", "conditions"), condition) or {}
        return told.get("status"), told.get("reason")

    async def is_told(self, cluster, condition, *wanted):
        return await self.says(cluster, condition) == wanted


def service(namespace="default"):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]},
    }


@asynccontextmanager
async def exporting(*members):
    world = ExportingWorld(SeededRuntime(0))
    try:
        await world.start(members)
        for member in members:
            await world.takes_part(member)
        yield world
    finally:
        await world.close()


async def test_what_clusters_export_the_others_import_until_nobody_exports_it():
    async with exporting("a", "b", "c") as world:
        for cluster in "ab":
            await world.serve(cluster)
            await world.export(cluster)
        for cluster in "abc":
            await world.until(lambda cluster=cluster: world.has_sources(cluster, a=2, b=2))
        found = await world.imported("c")
        given = await world.clients["c"].list(SERVICES, "default", labels=f"{SERVICE_NAME_LABEL}=web")
        assert found["spec"]["type"] == "ClusterSetIP"
        assert found["spec"]["ips"] == given.items[0]["spec"]["clusterIPs"]
        assert found["spec"]["ports"] == [{"name": "http", "port": 80, "protocol": "TCP"}]
        assert found["status"]["clusters"] == [{"cluster": "a"}, {"cluster": "b"}]
        assert find_condition(found["status"]["conditions"], "Ready")["status"] == "True"
        for condition, said in {"Valid": "True", "Ready": "True", "Conflict": "False"}.items():
            assert (await world.says("a", condition))[0] == said

        await world.runtime.sleep(60)
        world.forget_writes()
        await world.runtime.sleep(60)
        assert world.writes() == {}

        await world.clients["b"].patch(SERVICES, "web", {"spec": {"ports": [{"name": "http", "port": 81}]}}, "default")
        for cluster in "ab":
            await world.until(lambda cluster=cluster: world.is_told(cluster, "Conflict", "True", "PortConflict"))
        await world.until(lambda: world.has_sources("c", a=2))
        await world.clients["b"].delete(SERVICES, "web", "default")
        await world.until(lambda: world.is_told("b", "Valid", "False", "NoService"))
        await world.until(lambda: world.is_told("a", "Conflict", "False", "NoConflicts"))

        for cluster in "ab":
            await world.has_namespace(cluster, "shop")
        await world.clients["a"].create(SERVICES, service("shop"))
        await world.export("a", "shop")
        await world.until(lambda: world.imported("b", "shop"))
        assert await world.imported("c", "shop") is None
        await world.has_namespace("c", "shop")
        await world.until(lambda: world.imported("c", "shop"))

        await world.takes_part("c", "false")
        await world.until(lambda: world.holds_nothing("c"))
        await world.clients["a"].delete(SERVICE_EXPORTS, "web", "default")
        await world.until(lambda: world.holds_nothing("a"))
        await world.until(lambda: world.holds_nothing("b"))


async def test_a_lost_clusters_endpoints_leave_in_time_and_its_import_outlives_a_new_control_plane():
    async with exporting("a", "b", "c") as world:
        for cluster in "ab":
            await world.serve(cluster)
            await world.export(cluster)
        await world.until(lambda: world.has_sources("c", a=2, b=2))

        await world.fail("a")
        assert await world.until(lambda: world.has_sources("c", b=2)) <= LOST_WITHIN_SECONDS
        before = await world.imported("c")
        await world.kill_control_plane()
        world.start_control_plane()
        await world.runtime.sleep(60)
        assert await world.imported("c") == before
        assert await world.sources("c") == {"b": 2}

        await world.clients["b"].delete(SERVICE_EXPORTS, "web", "default")
        await world.runtime.sleep(30)
        assert (await world.imported("c"))["spec"] == before["spec"]
        world.heal("a")
        await world.until(lambda: world.has_sources("c", a=2))
        await world.until(lambda: world.comes_from("c", "a"))
