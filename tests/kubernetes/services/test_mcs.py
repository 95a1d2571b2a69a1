"""Multi-cluster services on two real clusters: the cases of the public conformance suite that need no container.

The suite (`conformance` in kubernetes-sigs/mcs-api) is a module that no Go proxy has, so it is not built here; the
facts that its cases demand are tested one by one. Where HANSE_MCS_CONFORMANCE names the suite's compiled binary, it is
run itself.
"""

import asyncio
import os
from collections.abc import Iterator

import pytest
import yaml

from hanse.api.mcs import SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL
from hanse.kube.manifest import annotations_of, labels_of
from tests.kubernetes.real import MEMBER, RealCluster, real_clusters
from tests.kubernetes.services.exporting import cluster_set, exporting

PORTS = [{"name": "tcp", "port": 42, "protocol": "TCP"}, {"name": "udp", "port": 42, "protocol": "UDP"}]
SCTP = {"name": "stcp", "port": 142, "protocol": "SCTP"}
BOTH = ("one", "two")
# Of the suite these look up names or open connections from within a pod.
NEEDS_CONTAINERS = ("DNS", "Connectivity", "not exported")
SUITE_SECONDS = 900


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, RealCluster]]:
    with real_clusters(dict.fromkeys(BOTH, MEMBER)) as running:
        for index, cluster in enumerate(running.values()):
            cluster.start_nodes(index=index)
        with exporting(running):
            yield running


async def test_a_cluster_ip_service_is_imported_as_it_is_everywhere_until_it_is_exported_no_longer(clusters):
    async with cluster_set(clusters, "plain") as world:
        await world.serve("one", internalTrafficPolicy="Cluster", trafficDistribution="PreferClose")
        await world.run_pods("one")
        await world.export("one", exportedLabels={"dummy-label": "true"}, exportedAnnotations={"dummy": "true"})
        await world.until_told("one", "Valid", "True", "Valid")
        for cluster in BOTH:
            found = await world.until_imported(cluster, lambda each: each["spec"].get("ips"))
            spec = found["spec"]
            assert spec["type"] == "ClusterSetIP"
            assert sorted(spec["ports"], key=lambda port: port["name"]) == PORTS
            assert (spec["sessionAffinity"], spec["sessionAffinityConfig"]) == (
                "ClientIP",
                {"clientIP": {"timeoutSeconds": 10}},
            )
            assert (spec["internalTrafficPolicy"], spec["trafficDistribution"]) == ("Cluster", "PreferClose")
            assert len(spec["ips"]) == len(spec["ipFamilies"])
            assert labels_of(found)["dummy-label"] == annotations_of(found)["dummy"] == "true"
            assert "dummy-svc" not in {**labels_of(found), **annotations_of(found)}
            (entry,) = await world.until_slices(cluster)
            assert labels_of(entry)[SERVICE_NAME_LABEL] == "hello"
            assert labels_of(entry)[SOURCE_CLUSTER_LABEL] == "one"
            assert labels_of(entry)["endpointslice.kubernetes.io/managed-by"] == "multicluster.hanse.dev"
        await world.unexport("one")
        for cluster in BOTH:
            await world.until_not_imported(cluster)


async def test_an_import_lives_as_long_as_one_cluster_exports_and_a_namespace_that_goes_takes_it_along(clusters):
    async with cluster_set(clusters, "both") as world:
        for cluster in BOTH:
            await world.serve(cluster)
            await world.export(cluster)
        names = [{"cluster": cluster} for cluster in BOTH]
        await world.until_imported("one", lambda found: found.get("status", {}).get("clusters") == names)
        await world.unexport("one")
        await world.until_imported("one", lambda found: found["status"]["clusters"] == names[1:])
        await world.unexport("two")
        await world.until_not_imported("one")


@pytest.mark.parametrize(
    ("first", "second", "reason", "ports"),
    [
        pytest.param({}, {"ports": [PORTS[0], SCTP]}, "PortConflict", [SCTP, *PORTS], id="ports-are-joined"),
        pytest.param({}, {"ports": [{**PORTS[0], "port": 43}]}, "PortConflict", PORTS, id="a-port-is-taken"),
        pytest.param({}, {"clusterIP": "None"}, "TypeConflict", PORTS, id="headless-or-not"),
    ],
)
async def test_on_what_two_clusters_disagree_the_older_export_is_right_and_both_are_told(
    clusters, first, second, reason, ports
):
    async with cluster_set(clusters, f"conflict-{reason.lower()}-{len(ports)}") as world:
        await world.serve("one", **first)
        await world.export("one")
        await world.until_imported("one")
        await asyncio.sleep(1.1)  # creation times have whole seconds
        await world.serve("two", **second)
        await world.export("two")
        for cluster in BOTH:
            await world.until_told(cluster, "Conflict", "True", reason)
        found = await world.until_imported("two")
        assert found["spec"]["type"] == "ClusterSetIP"
        assert sorted(found["spec"]["ports"], key=lambda port: port["name"]) == ports


async def test_a_headless_service_is_imported_without_an_address_and_an_external_name_not_at_all(clusters):
    async with cluster_set(clusters, "special") as world:
        await world.serve("one", clusterIP="None")
        await world.export("one")
        for cluster in BOTH:
            found = await world.until_imported(cluster)
            assert (found["spec"]["type"], found["spec"].get("ips")) == ("Headless", None)
        await world.serve("two", type="ExternalName", externalName="example.com", ipFamilyPolicy=None)
        await world.export("two")
        await world.until_told("two", "Valid", "False", "InvalidServiceType")
        found = await world.until_imported("two")
        assert found["status"]["clusters"] == [{"cluster": "one"}]


@pytest.mark.timeout(SUITE_SECONDS + 60)
async def test_the_public_conformance_suite_passes_where_it_needs_no_container(clusters, tmp_path):
    binary = os.environ.get("HANSE_MCS_CONFORMANCE")
    if not binary:
        pytest.skip("HANSE_MCS_CONFORMANCE names no binary of the suite (`go test -c` in its folder `conformance`)")
    config = tmp_path / "kubeconfig"
    config.write_text(joined_kubeconfig(clusters))
    suite = await asyncio.create_subprocess_exec(
        binary,
        f"-kubeconfig={config}",
        f"-contexts={','.join(BOTH)}",
        f"-ginkgo.skip={'|'.join(NEEDS_CONTAINERS)}",
        "-ginkgo.v",
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(SUITE_SECONDS):
        told = (await suite.communicate())[0].decode()
    assert suite.returncode == 0, told[-6000:]
    print(told)


def joined_kubeconfig(clusters):
    """Return one kubeconfig with a context for each cluster."""
    joined = {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []}
    for name, cluster in clusters.items():
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        joined["clusters"].append({"name": name, "cluster": config["clusters"][0]["cluster"]})
        joined["users"].append({"name": name, "user": config["users"][0]["user"]})
        joined["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
    return yaml.safe_dump(joined)
