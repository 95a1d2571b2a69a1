"""A real control plane with simulated nodes: pods run and log, claims are bound, metrics drive an autoscaler."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.kubernetes.real import MEMBER, KubectlError, RealCluster, real_clusters, wait_until

CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
POD_WITH_CLAIM = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "db"},
    "spec": {
        "containers": [{"name": "db", "image": "db:1"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    },
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    with real_clusters({"member": MEMBER}) as clusters:
        clusters["member"].start_nodes(index=30, region="eu", zone="eu-1")
        yield clusters["member"]


def apply(cluster: RealCluster, manifest: object) -> None:
    cluster.kubectl("apply", "-f", "-", input=json.dumps(manifest))


def test_pods_run_and_their_logs_are_read_and_followed(cluster: RealCluster) -> None:
    cluster.kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=3")
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=180s", seconds=90.0)
    assert "started nginx:1 on node member-node-" in cluster.kubectl("logs", "deployment/web")
    cluster.kubectl("run", "job", "--image=busybox:1", "--restart=Never", "--command", "--", "sleep", "3")
    cluster.kubectl("wait", "pod/job", "--for=jsonpath={.status.phase}=Running", "--timeout=180s", seconds=90.0)
    followed = cluster.kubectl("logs", "--follow", "pod/job", seconds=90.0)
    assert followed.splitlines()[-1] == "exited with code 0"


def test_commands_run_in_pods_and_their_exit_codes_are_told(cluster: RealCluster) -> None:
    cluster.kubectl("run", "shell", "--image=busybox:1")
    cluster.kubectl("wait", "pod/shell", "--for=condition=Ready", "--timeout=50s")
    assert cluster.kubectl("exec", "shell", "--", "echo", "hello", "there") == "hello there\n"
    with pytest.raises(KubectlError, match="exit code 3"):
        cluster.kubectl("exec", "shell", "--", "sh", "-c", "exit 3")
    cluster.kubectl("delete", "pod", "shell", "--now")


def test_a_claim_is_bound_in_the_zone_of_its_pod_and_its_volume_goes_with_it(cluster: RealCluster) -> None:
    def bound() -> bool:
        return bool(cluster.get("pvc", "data")["status"].get("phase") == "Bound")

    wait_until(lambda: bool(cluster.get("storageclass")["items"]), seconds=60.0, what="a storage class")
    apply(cluster, CLAIM)
    apply(cluster, POD_WITH_CLAIM)
    cluster.kubectl("wait", "pod/db", "--for=condition=Ready", "--timeout=180s", seconds=90.0)
    wait_until(bound, seconds=60.0, what="the claim bound")
    [volume] = cluster.get("pv")["items"]
    [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["eu-1"]
    cluster.kubectl("delete", "pod/db", "pvc/data", "--timeout=180s", seconds=90.0)
    wait_until(lambda: not cluster.get("pv")["items"], seconds=60.0, what="the volume gone")


def test_services_get_addresses(cluster: RealCluster) -> None:
    def address() -> str:
        ingress = cluster.get("service", "front")["status"]["loadBalancer"].get("ingress") or [{}]
        return str(ingress[0].get("ip", ""))

    cluster.kubectl("create", "service", "loadbalancer", "front", "--tcp=80:80")
    wait_until(lambda: address().startswith("127.40."), seconds=60.0, what="an address of the pool")


def test_kubectl_top_and_an_autoscaler_read_the_simulated_load(cluster: RealCluster) -> None:
    def tops() -> bool:
        try:
            return "loaded-" in cluster.kubectl("top", "pods", "--no-headers")
        except KubectlError:
            return False

    cluster.kubectl("create", "deployment", "loaded", "--image=nginx:1")
    cluster.kubectl("set", "resources", "deployment/loaded", "--requests=cpu=200m")
    cluster.kubectl("expose", "deployment/loaded", "--port=80")
    cluster.kubectl("annotate", "service/loaded", "simulator.hanse.dev/load=450m")
    cluster.kubectl("rollout", "status", "deployment/loaded", "--timeout=180s", seconds=90.0)
    wait_until(tops, seconds=60.0, what="metrics of the pod")
    assert "member-node-1" in cluster.kubectl("top", "nodes")
    cluster.kubectl("autoscale", "deployment/loaded", "--cpu=50%", "--min=1", "--max=8")
    wait_until(
        lambda: cluster.get("deployment", "loaded")["spec"]["replicas"] > 1, seconds=120.0, what="a second replica"
    )
