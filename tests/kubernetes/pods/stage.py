"""Real clusters of which one sends its pods to others: upstream components, `hanse controller`, `hanse agent`."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.federation import HANSE, run
from tests.kubernetes.real import HOST, MEMBER, RealCluster, real_clusters, wait_until
from tests.kubernetes.real.components import CHECKOUT
from tests.kubernetes.real.ports import free_port

HOME = "home"
_READY_SECONDS = 120.0
_KUBECONFIG_LISTS = ("clusters", "users", "contexts")


class PodFederation:
    """A host, a source and its targets, each of upstream components with simulated nodes."""

    home = HOME

    def __init__(self, clusters: dict[str, RealCluster], folder: Path) -> None:
        self.clusters = clusters
        self.targets = [name for name in clusters if name not in ("federation", HOME)]
        self._folder = folder
        self._host = clusters["federation"]
        self._admission_port = free_port()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *, nodes: int = 3) -> None:
        """Have every cluster join, and open the door of pods of the source."""
        self.start_controller()
        members = (HOME, *self.targets)
        with ThreadPoolExecutor(max_workers=len(members)) as starters:
            list(starters.map(lambda name: self._start_nodes(name, members.index(name), nodes), members))
        wait_until(self._serves_clusters, seconds=_READY_SECONDS, what="the Cluster kind is served")
        self.hanse("join", *members, "--kubeconfig", str(self._administrators()))
        self.clusters[HOME].kubectl("label", "namespace", "default", "multicluster-scheduler=enabled")
        self.open_door()

    def open_door(self) -> None:
        """Have the source's pods run in its targets."""
        url = f"https://127.0.0.1:{self._admission_port}"
        sign_in = ("--kubeconfig", str(self._administrators()), "--admission-url", url)
        self.hanse("doors", "enable", "pods", "--cluster", HOME, "--targets", ",".join(self.targets), *sign_in)
        self.return_admission()
        wait_until(self._targets_are_ready, seconds=_READY_SECONDS, what="all targets are ready")

    def close_door(self) -> None:
        """Have the source's pods run at home again."""
        self.hanse("doors", "disable", "pods", "--cluster", HOME, "--yes", "--kubeconfig", str(self._administrators()))
        self.lose_admission()

    def _administrators(self) -> Path:
        """Write one kubeconfig with a context for each cluster."""
        files = [yaml.safe_load(self.clusters[name].kubeconfig.read_text()) for name in (HOME, *self.targets)]
        merged = {**files[0], **{kind: [each for file in files for each in file[kind]] for kind in _KUBECONFIG_LISTS}}
        path = self._folder / "administrators.yaml"
        path.write_text(yaml.safe_dump(merged))
        return path

    def start_controller(self) -> None:
        """Start the control plane."""
        self._start(
            "controller", "controller", "--kubeconfig", str(self._host.kubeconfig), "--kubelet-host", "127.0.0.1"
        )

    def return_admission(self) -> None:
        """Start the server that admits the source's pods, with the account that opening the door has made for it."""
        source = self.clusters[HOME]
        document = yaml.safe_load(source.kubeconfig.read_text())
        token = source.kubectl("create", "token", "hanse-admission", "--namespace=hanse-system").strip()
        for user in document["users"]:
            user["user"] = {"token": token}
        kubeconfig = self._folder / "admission.yaml"
        kubeconfig.write_text(yaml.safe_dump(document))
        where = ("--address", "127.0.0.1", "--port", str(self._admission_port))
        self._start("admission", "agent", "admission", "--cluster", HOME, *where, "--kubeconfig", str(kubeconfig))
        wait_until(self._admission_listens, seconds=_READY_SECONDS, what="somebody admits the source's pods")

    def lose_admission(self) -> None:
        """End the server that admits the source's pods with SIGKILL."""
        self.kill("admission")

    def kill_control_plane(self) -> None:
        """End the control plane with SIGKILL and start it again."""
        self.kill("controller")
        self.start_controller()

    def fail(self, target: str) -> None:
        """Kill the API server of a target."""
        self.clusters[target].kill()

    def heal(self, target: str) -> None:
        """Bring a target back."""
        self.clusters[target].heal()

    def kill(self, process: str) -> None:
        """End a process with SIGKILL, unless it has ended."""
        self._processes[process].kill()
        self._processes[process].wait(timeout=20)

    def stop(self) -> None:
        """End what was started beside the clusters."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait(timeout=20)

    def hanse(self, *arguments: str) -> str:
        """Type a command of Hanse's."""
        return run([*HANSE, *arguments, "--host-kubeconfig", str(self._host.kubeconfig)], home=self._folder)

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002
        """Type a command of kubectl's in the source."""
        return self.clusters[HOME].kubectl(*arguments, input=input, seconds=120.0)

    def kubectl_in(self, cluster: str, *arguments: str, input: str | None = None) -> str:  # noqa: A002
        """Type a command of kubectl's in another cluster."""
        return self.clusters[cluster].kubectl(*arguments, input=input, seconds=120.0)

    def get(self, *arguments: str) -> Any:
        """Return what the source has."""
        return json.loads(self.kubectl("get", *arguments, "--output=json"))

    def _start_nodes(self, name: str, index: int, nodes: int) -> None:
        self.clusters[name].start_nodes(index=index, region=name, zone=f"{name}-a", nodes=nodes)

    def _start(self, name: str, *arguments: str) -> None:
        # After a failure halfway it may still run, and nothing else would end it.
        if name in self._processes:
            self.kill(name)
        with (self._folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen([*HANSE, *arguments], stderr=log, cwd=CHECKOUT)

    def _serves_clusters(self) -> bool:
        return "clusters" in self._host.kubectl("api-resources", "--api-group=clusterregistry.k8s.io", "-o", "name")

    def _admission_listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._admission_port)) == 0

    def _targets_are_ready(self) -> bool:
        found = self.get("clustertargets")["items"]
        conditions = [each for target in found for each in target.get("status", {}).get("conditions", [])]
        ready = [each for each in conditions if each["type"] == "Ready" and each["status"] == "True"]
        return len(ready) == len(self.targets)


@contextmanager
def pod_federation(folder: Path, targets: Sequence[str], *, nodes: int = 3) -> Iterator[PodFederation]:
    """Run such a federation for the length of a block."""
    shapes = {"federation": HOST, HOME: MEMBER, **dict.fromkeys(targets, MEMBER)}
    with real_clusters(shapes) as clusters:
        federation = PodFederation(clusters, folder)
        try:
            federation.start(nodes=nodes)
            yield federation
        finally:
            federation.stop()
