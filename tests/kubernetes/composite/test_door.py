"""The door of lambda controllers on upstream components: one cluster, an account of few rights, real RBAC."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.composites_at_work import (
    a_closed_door_leaves_everything_as_it_is,
    a_controller_of_a_cluster_acts_in_that_cluster,
)
from tests.e2e.federation import HANSE, run
from tests.kubernetes.real import HOST, MEMBER, KubectlError, RealCluster, real_clusters, wait_until
from tests.kubernetes.real.components import CHECKOUT

pytestmark = pytest.mark.kubernetes
MEMBER_NAME = "home"
KINDS = "webapps.example.com,deployments.apps,services"


class Joined:
    """A host and one member of upstream components, with `hanse controller` beside them."""

    def __init__(self, clusters: dict[str, RealCluster], folder: Path) -> None:
        self._clusters = clusters
        self._folder = folder
        self._host = clusters["federation"]

    def kubectl(self, context: str, *arguments: str, input: str | None = None) -> str:  # noqa: A002
        return self._clusters[context].kubectl(*arguments, input=input, seconds=120.0)

    def hanse(self, *arguments: str) -> str:
        return run([*HANSE, *arguments, "--host-kubeconfig", str(self._host.kubeconfig)], home=self._folder)

    @property
    def sign_in(self) -> tuple[str, ...]:
        """The options by which a door is opened as an administrator of the member."""
        return "--kubeconfig", str(self._clusters[MEMBER_NAME].kubeconfig)

    def start_controller(self) -> subprocess.Popen[bytes]:
        with (self._folder / "controller.log").open("wb") as log:
            command = [*HANSE, "controller", "--kubeconfig", str(self._host.kubeconfig)]
            return subprocess.Popen(command, stderr=log, cwd=CHECKOUT)

    def serves_clusters(self) -> bool:
        return "clusters" in self._host.kubectl("api-resources", "--api-group=clusterregistry.k8s.io", "-o", "name")


@pytest.fixture
def joined(tmp_path: Path) -> Iterator[Joined]:
    with real_clusters({"federation": HOST, MEMBER_NAME: MEMBER}) as clusters:
        on = Joined(clusters, tmp_path)
        controller = on.start_controller()
        try:
            wait_until(on.serves_clusters, seconds=120, what="the Cluster kind is served")
            on.hanse("join", MEMBER_NAME, *on.sign_in)
            yield on
        finally:
            controller.terminate()
            controller.wait(timeout=20)


def test_a_cluster_whose_door_is_open_has_its_controllers_run_with_the_rights_that_were_named(joined, tmp_path):
    folder = tmp_path / "written"
    run([*HANSE, "composite", "init", "web-app", "--language", "jsonnet", "--folder", str(folder)], home=tmp_path)
    rights = ("--kinds", KINDS, "--hook-namespaces", "default")
    told = joined.hanse("doors", "enable", "composites", "--cluster", MEMBER_NAME, *rights, *joined.sign_in)

    assert "note: the cluster serves no webapps.example.com yet" in told
    a_controller_of_a_cluster_acts_in_that_cluster(joined, folder, MEMBER_NAME)
    account = "--as=system:serviceaccount:hanse-system:hanse-home"
    more = ("auth", "can-i", "list", "runtimeclasses.node.k8s.io", account)
    assert _may(joined, *more) == "no"
    joined.kubectl(MEMBER_NAME, "create", "clusterrole", "more", "--verb=list", "--resource=runtimeclasses.node.k8s.io")
    joined.kubectl(MEMBER_NAME, "label", "clusterrole", "more", "hanse.dev/composites=rights")
    wait_until(lambda: _may(joined, *more) == "yes", seconds=60, what="the rights of a labelled role")
    a_closed_door_leaves_everything_as_it_is(joined, MEMBER_NAME, *joined.sign_in)
    assert _may(joined, *more) == "no"


def _may(on: Joined, *question: str) -> str:
    """Ask whether Hanse's account may do something; a no is an exit code."""
    try:
        return on.kubectl(MEMBER_NAME, *question).strip()
    except KubectlError:
        return "no"
