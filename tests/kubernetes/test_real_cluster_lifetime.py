"""Real clusters start side by side, say why when they cannot start, and leave nothing behind."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.kubernetes.real import HOST, MEMBER, ClusterStartError, real_clusters, wait_until
from tests.kubernetes.real.components import CHECKOUT

HOLDER = """
import json, sys
from tests.kubernetes.real import HOST, real_clusters
with real_clusters({"held": HOST}) as clusters:
    cluster = clusters["held"]
    print(json.dumps({"pids": cluster.processes.pids, "folder": str(cluster.folder)}), flush=True)
    sys.stdin.read()
"""


def test_four_clusters_start_side_by_side_within_a_minute() -> None:
    started = time.monotonic()
    with real_clusters({"federation": HOST, "us-east": MEMBER, "eu-west": MEMBER, "ap-south": MEMBER}) as clusters:
        took = time.monotonic() - started
        for name, cluster in clusters.items():
            cluster.kubectl("create", "configmap", "whoami", f"--from-literal=name={name}")
        names = [cluster.get("configmap", "whoami")["data"]["name"] for cluster in clusters.values()]

    assert took < 60
    assert names == ["federation", "us-east", "eu-west", "ap-south"]


def test_a_closed_cluster_leaves_neither_process_nor_folder() -> None:
    with real_clusters({"brief": HOST}) as clusters:
        pids, folder = list(clusters["brief"].processes.pids.values()), clusters["brief"].folder

    assert [pid for pid in pids if psutil.pid_exists(pid)] == []
    assert not folder.exists()


def test_a_holder_killed_with_sigkill_leaves_neither_process_nor_folder() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], cwd=CHECKOUT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        held = json.loads(holder.stdout.readline())
        pids = list(held["pids"].values())
        running = [pid for pid in pids if psutil.pid_exists(pid)]

        holder.kill()

        folder = Path(held["folder"])
        wait_until(
            lambda: not folder.exists() and not any(map(psutil.pid_exists, pids)),
            seconds=60,
            what="processes and folder of a killed holder gone",
        )

    assert len(running) == 3
    assert not folder.exists()


def test_a_component_that_cannot_start_is_named_with_the_end_of_its_log() -> None:
    broken = replace(HOST, controllers=("no-such-controller",))

    with pytest.raises(ClusterStartError) as failure, real_clusters({"broken": broken}):
        pytest.fail("the cluster must not be handed out")

    assert "kube-controller-manager of broken ended with code 1" in str(failure.value)
    assert "is not in the list of known controllers" in str(failure.value)
