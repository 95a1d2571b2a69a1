"""The first Vitess operator on upstream Kubernetes, by the guide's own commands; `hanse composite serve` runs it."""

import sys
from collections.abc import Iterator

import pytest

from tests.behaviour.vitess_first import (
    Shell,
    one_edit_rolls_through_all_of_it,
    the_dashboard_shows_a_page,
    the_guides_commands_bring_a_cluster_up,
)
from tests.kubernetes.real import ClusterShape, RealCluster, real_clusters, wait_until
from tests.kubernetes.real.components import components_folder


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    with real_clusters({"home": ClusterShape(tunnels=True)}) as clusters:
        home = clusters["home"]
        home.start_nodes(index=34)
        serve = [sys.executable, "-m", "hanse", "composite", "serve", "--kubeconfig", str(home.kubeconfig)]
        home.run("lambda-controllers", serve)
        wait_until(
            lambda: "metacontroller" in home.kubectl("get", "namespaces", "-o", "name"),
            seconds=60,
            what="the namespace of hooks",
        )
        yield home


@pytest.mark.timeout(900)
def test_the_guides_commands_run_on_upstream_kubernetes(cluster: RealCluster) -> None:
    shell = Shell(components_folder() / "kubectl", cluster.kubeconfig, cluster.folder)
    the_guides_commands_bring_a_cluster_up(shell)
    the_dashboard_shows_a_page(shell)
    one_edit_rolls_through_all_of_it(shell)
