"""The first Vitess operator on upstream Kubernetes, by the guide's own commands, with and without a federation."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.vitess_first import (
    DOOR_KINDS,
    Shell,
    one_edit_rolls_through_all_of_it,
    the_dashboard_shows_a_page,
    the_guides_commands_bring_a_cluster_up,
)
from tests.e2e.federation import HANSE, run
from tests.kubernetes.real import HOST, ClusterShape, RealCluster, real_clusters, wait_until
from tests.kubernetes.real.components import CHECKOUT, components_folder

pytestmark = pytest.mark.timeout(900)
WITH_PODS = ClusterShape(tunnels=True)


@pytest.fixture
def served_alone() -> Iterator[RealCluster]:
    """A cluster without a federation, in which `hanse composite serve` is administrator."""
    with real_clusters({"home": WITH_PODS}) as clusters:
        home = clusters["home"]
        home.start_nodes(index=34)
        home.run("lambda-controllers", [*HANSE, "composite", "serve", "--kubeconfig", str(home.kubeconfig)])
        yield home


@pytest.fixture
def member(tmp_path: Path) -> Iterator[RealCluster]:
    """A cluster of a federation whose door is open for what the operator needs, and for nothing else."""
    with real_clusters({"federation": HOST, "home": WITH_PODS}) as clusters:
        host, home = clusters["federation"], clusters["home"]
        home.start_nodes(index=35)
        with (tmp_path / "controller.log").open("wb") as log:
            controller = subprocess.Popen(
                [sys.executable, "-m", "hanse", "controller", "--kubeconfig", str(host.kubeconfig)],
                stderr=log,
                cwd=CHECKOUT,
            )
        try:
            wait_until(
                lambda: "clusters" in host.kubectl("api-resources", "--api-group=clusterregistry.k8s.io", "-o", "name"),
                seconds=120,
                what="the Cluster kind is served",
            )
            sign_in = ["--kubeconfig", str(home.kubeconfig), "--host-kubeconfig", str(host.kubeconfig)]
            run([*HANSE, "join", "home", *sign_in], home=tmp_path)
            door = ["doors", "enable", "composites", "--cluster", "home", "--hook-namespaces", "metacontroller"]
            run([*HANSE, *door, "--kinds", DOOR_KINDS, *sign_in], home=tmp_path)
            yield home
        finally:
            controller.terminate()
            controller.wait(timeout=20)


def shell_in(cluster: RealCluster) -> Shell:
    wait_until(
        lambda: "namespace/metacontroller" in cluster.kubectl("get", "namespaces", "-o", "name").split(),
        seconds=60,
        what="the namespace of hooks",
    )
    wait_until(
        lambda: (
            "compositecontrollers"
            in cluster.kubectl("api-resources", "--api-group=metacontroller.k8s.io", "-o", "name")
        ),
        seconds=60,
        what="the kinds of lambda controllers",
    )
    return Shell(components_folder() / "kubectl", cluster.kubeconfig, cluster.folder)


def test_the_guides_commands_run_in_a_cluster_with_no_federation(served_alone: RealCluster) -> None:
    shell = shell_in(served_alone)
    the_guides_commands_bring_a_cluster_up(shell)
    the_dashboard_shows_a_page(shell)


def test_the_guides_commands_run_in_a_member_with_the_rights_of_its_door(member: RealCluster) -> None:
    shell = shell_in(member)
    the_guides_commands_bring_a_cluster_up(shell)
    one_edit_rolls_through_all_of_it(shell)
