"""One VitessCluster over two members on upstream components, real etcd as their shared lockserver: the worked split."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hanse.kube.manifest import dig
from tests.behaviour.vitess_federated import EXAMPLE
from tests.e2e.federation import HANSE, run
from tests.kubernetes.real import HOST, MEMBER, RealCluster, real_clusters, wait_until
from tests.kubernetes.real.components import CHECKOUT, components_folder
from tests.kubernetes.real.processes import GuardedProcesses
from tests.kubernetes.vitess.programs import ROOT, start_etcd

pytestmark = pytest.mark.kubernetes

_PATIENCE_SECONDS = 180.0
_EXAMPLE_ADDRESS = "etcd-global.vt.example:2379"
_OFF = ("registerCellsAliases", "pruneCells", "pruneKeyspaces", "pruneShards")
_CELLS = {"east": ["useast1a", "useast1b", "useast1c"], "west": ["uswest2a", "uswest2b", "uswest2c"]}
_TABLETS = {
    "east": {"useast1a-2244051001", "useast1a-1362584625", "useast1a-0838873728", "useast1a-0321174680"},
    "west": {"uswest2a-0394942161", "uswest2b-2088132781", "uswest2a-4209214293", "uswest2b-1647412108"},
}
_NAMED = {"east": "shop-vttablet-useast1a-2244051001-68c79155", "west": "shop-vttablet-uswest2a-0394942161-1cea71ac"}
_SHARDS = {"shop-orders-x-80-5e59d8a5", "shop-orders-80-x-a88c9533"}
_ORCHESTRATORS = {
    "east": "shop-orders-x-80-useast1a-vtorc-95b79fe7",
    "west": "shop-orders-x-80-uswest2a-vtorc-6b0ae8cb",
}


class Members:
    """A host and two members, the control plane beside them, and the lockserver that all share."""

    def __init__(self, clusters: dict[str, RealCluster], folder: Path, lockserver: str) -> None:
        self.clusters = clusters
        self.lockserver = lockserver
        self._folder = folder
        self._host = clusters["federation"]

    def hanse(self, *arguments: str) -> str:
        return run([*HANSE, *arguments, "--host-kubeconfig", str(self._host.kubeconfig)], home=self._folder)

    def start_controller(self) -> subprocess.Popen[bytes]:
        with (self._folder / "controller.log").open("ab") as log:
            return subprocess.Popen(
                [*HANSE, "controller", "--kubeconfig", str(self._host.kubeconfig)], stderr=log, cwd=CHECKOUT
            )

    def join(self) -> None:
        for name in _CELLS:
            sign_in = ("--kubeconfig", str(self.clusters[name].kubeconfig))
            self.hanse("join", name, *sign_in)
            self.hanse("doors", "enable", "vitess", "--cluster", name, *sign_in)

    def serves(self, kind: str, group: str) -> bool:
        return kind in self._host.kubectl("api-resources", f"--api-group={group}", "--output=name")

    def stored(self, path: str) -> str:
        """Return what etcd holds under a path of the global root, names and texts as they are."""
        etcdctl = [str(components_folder() / "etcdctl"), f"--endpoints={self.lockserver}", "get", "--prefix"]
        told = subprocess.run([*etcdctl, f"{ROOT}/{path}"], capture_output=True, timeout=30, check=True)
        return told.stdout.decode(errors="replace")

    def get(self, member: str, *arguments: str) -> Any:
        return json.loads(self.clusters[member].kubectl("get", *arguments, "--namespace=vt", "--output=json"))

    def names(self, member: str, kind: str, *options: str) -> set[str]:
        found = self.clusters[member].kubectl("get", kind, *options, "--namespace=vt", "--output=name")
        return {line.rpartition("/")[2] for line in found.splitlines()}


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Members]:
    folder = tmp_path_factory.mktemp("vitess-federated")
    processes = GuardedProcesses(folder)
    shapes = {"federation": HOST, "east": MEMBER, "west": MEMBER}
    try:
        with real_clusters(shapes) as clusters, _led(Members(clusters, folder, start_etcd(processes))) as members:
            yield members
    finally:
        processes.close()


@contextmanager
def _led(members: Members) -> Iterator[Members]:
    for index, name in enumerate(_CELLS):
        members.clusters[name].start_nodes(index=index, region=name, zone=f"{name}-a")
    controller = members.start_controller()
    try:
        for kind, group in (("clusters", "clusterregistry.k8s.io"), ("vitessclusters", "planetscale.com")):
            _until(partial(members.serves, kind, group), f"{kind} are served")
        members.join()
        yield members
    finally:
        controller.terminate()
        controller.wait(30)


def test_the_worked_split_comes_out_exactly_in_real_clusters(on: Members) -> None:
    """C4 and lines 92, 93, 98 and 99, by kubectl and etcdctl; 106 and 107 after it."""
    text = EXAMPLE.read_text().replace(_EXAMPLE_ADDRESS, on.lockserver)
    on.clusters["federation"].kubectl("apply", "--filename=-", input=text)
    for member in _CELLS:
        _until(partial(_has_begun, on, member), f"the part of {member}")
        _has_its_part(on, member)
    _is_registered_once(on)
    _what_is_changed_by_hand_is_put_back(on)


def _has_begun(on: Members, member: str) -> bool:
    return _NAMED[member] in on.names(member, "pods")


def _has_its_part(on: Members, member: str) -> None:
    spec = on.get(member, "vitessclusters.planetscale.com", "shop")["spec"]
    assert [cell["name"] for cell in spec["cells"]] == _CELLS[member]
    assert {switch: spec["topologyReconciliation"][switch] for switch in _OFF} == dict.fromkeys(_OFF, False)
    assert spec["globalLockserver"]["external"]["address"] == on.lockserver
    for cell in spec["cells"]:
        watched = dig(cell, "gateway", "extraFlags", "cells_to_watch")
        assert sorted(watched.split(",")) == sorted([*_CELLS["east"], *_CELLS["west"]])
    template = spec["keyspaces"][0]["partitionings"][0]["equal"]["shardTemplate"]
    begins = member == "east"
    assert template["replication"] == {"initializeMaster": begins, "initializeBackup": begins}

    component = "--selector=planetscale.com/component=vttablet"
    wait_until(
        lambda: len(on.names(member, "pods", component)) == 4,
        seconds=_PATIENCE_SECONDS,
        what=f"the tablets of {member}",
    )
    tablets = on.names(member, "pods", component)
    assert {name.removeprefix("shop-vttablet-").rpartition("-")[0] for name in tablets} == _TABLETS[member]
    assert on.names(member, "vitessshards") == _SHARDS
    _until(lambda: _ORCHESTRATORS[member] in on.names(member, "deployments"), f"the VTOrc of {member}")


def _is_registered_once(on: Members) -> None:
    cells = [*_CELLS["east"], *_CELLS["west"]]
    alias = "cells_aliases/planetscale_operator_default/CellsAlias"
    wait_until(
        lambda: all(f"cells/{cell}/CellInfo" in on.stored("cells/") for cell in cells),
        seconds=_PATIENCE_SECONDS,
        what="every operator has registered its cells",
    )
    wait_until(
        lambda: all(cell in on.stored(alias) for cell in cells),
        seconds=_PATIENCE_SECONDS,
        what="one alias for all cells",
    )


def _what_is_changed_by_hand_is_put_back(on: Members) -> None:
    on.clusters["west"].kubectl(
        "patch",
        "vitessclusters.planetscale.com",
        "shop",
        "--namespace=vt",
        "--type=merge",
        '--patch={"spec":{"topologyReconciliation":{"pruneKeyspaces":true}}}',
    )

    def put_back() -> bool:
        spec = on.get("west", "vitessclusters.planetscale.com", "shop")["spec"]
        return dig(spec, "topologyReconciliation", "pruneKeyspaces") is False

    _until(put_back, "the switch is off again")


def _until(holds: Callable[[], bool], what: str) -> None:
    wait_until(holds, seconds=_PATIENCE_SECONDS, what=what)
