"""A real cluster that fetches its work: its agent is a process with the rights of the written manifest and no more."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.kubernetes.real import HOST, MEMBER, RealCluster, real_clusters, wait_until

PATIENCE_SECONDS = 120.0


def _deployment(image: str) -> str:
    template = {
        "metadata": {"labels": {"app": "web"}, "creationTimestamp": None},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
        }
    )


class Federation:
    """A real host, and a real cluster east whose agent is the only thing that knows both."""

    def __init__(self, host: RealCluster, east: RealCluster, folder: Path) -> None:
        self.host = host
        self.east = east
        self._folder = folder

    def hanse(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "hanse", *words, f"--host-kubeconfig={self.host.kubeconfig}"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def join(self) -> None:
        manifest = self._folder / "agent.yaml"
        self.hanse("join", "east", "--pull", f"--agent-manifest={manifest}", "--agent-image=hanse:test")
        self.east.kubectl("apply", f"--filename={manifest}")
        document = yaml.safe_load(self.east.kubeconfig.read_text())
        token = self.east.kubectl("create", "token", "hanse-east", "--namespace=hanse-system").strip()
        for entry in document["users"]:
            entry["user"] = {"token": token}
        (self._folder / "east.kubeconfig").write_text(yaml.safe_dump(document))

    def start_agent(self) -> None:
        self.east.run(
            "agent", [sys.executable, "-m", "hanse", "agent", f"--kubeconfig={self._folder / 'east.kubeconfig'}"]
        )

    def until(self, holds, what: str) -> None:
        wait_until(holds, seconds=PATIENCE_SECONDS, what=what)

    def is_cluster(self, condition: str) -> bool:
        found = self.host.get("cluster", "east").get("status", {}).get("conditions", [])
        return any(each["type"] == condition and each["status"] == "True" for each in found)

    def image(self) -> str:
        found = self.east.get("deployments")["items"]
        return found[0]["spec"]["template"]["spec"]["containers"][0]["image"] if found else ""


@pytest.fixture
def federation(tmp_path: Path) -> Iterator[Federation]:
    with real_clusters({"federation": HOST, "east": MEMBER}) as clusters:
        host, east = clusters["federation"], clusters["east"]
        east.start_nodes(region="east", zone="east-a")
        host.run("controller", [sys.executable, "-m", "hanse", "controller", f"--kubeconfig={host.kubeconfig}"])
        wait_until(lambda: "agents.hanse.dev" in host.kubectl("get", "crds"), seconds=60, what="the host is prepared")
        yield Federation(host, east, tmp_path)


def test_a_cluster_that_nobody_reaches_gets_its_work_loses_its_agent_and_leaves(federation: Federation) -> None:
    host, east = federation.host, federation.east
    federation.join()
    federation.start_agent()
    federation.until(lambda: federation.is_cluster("Ready"), "the cluster is ready")

    host.kubectl("apply", "--filename=-", input=_deployment("web:1"))
    federation.until(lambda: federation.image() == "web:1", "the cluster has its copy")
    host.kubectl("rollout", "status", "deployment/web", "--timeout=180s")
    assert "2 replicas, 2 available" in federation.hanse("explain", "deployment", "web").partition("\neast")[2]
    east.kubectl("set", "image", "deployment/web", "main=bad:1")
    federation.until(lambda: federation.image() == "web:1", "what drifted is put back")

    east.processes.kill("agent")
    federation.until(lambda: federation.is_cluster("Offline"), "a cluster without its agent is offline")
    host.kubectl("set", "image", "deployment/web", "main=web:2")
    assert federation.image() == "web:1"
    federation.start_agent()
    federation.until(lambda: federation.image() == "web:2", "a new agent finds what was asked for meanwhile")
    federation.until(lambda: federation.is_cluster("Ready"), "the cluster is back")

    before = host.get("works", "--namespace=hanse-cluster-east")["items"]
    told = federation.hanse("unjoin", "east", "--delete")

    assert [(work["spec"]["name"], work["status"].get("trouble")) for work in before] == [("web", None)]
    # The first wish and the new image: nothing that the server does to a Work makes it be written again.
    assert [work["metadata"]["generation"] for work in before] == [2]
    assert "cluster east has left the federation" in told
    assert federation.image() == ""
    assert east.get("namespace", "default")["status"]["phase"] == "Active"
