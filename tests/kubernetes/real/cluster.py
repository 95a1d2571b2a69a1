"""Real Kubernetes clusters on loopback: upstream etcd, API server, controllers and scheduler; no nodes.

    with real_clusters({"federation": HOST, "east": MEMBER}) as clusters:
        clusters["east"].kubectl("get", "namespaces")

Plain blocking calls, for tests of both kinds. Whatever is started here ends with this process.
"""

from __future__ import annotations

import json
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hanse.kube.conditions import is_true
from hanse.kube.manifest import dig
from tests.kubernetes.real.components import components_folder
from tests.kubernetes.real.flags import (
    TUNNELS,
    ClusterShape,
    Layout,
    apiserver_flags,
    controller_manager_flags,
    egress_selection,
    etcd_flags,
    scheduler_flags,
)
from tests.kubernetes.real.identity import write_identity
from tests.kubernetes.real.ports import free_port
from tests.kubernetes.real.processes import GuardedProcesses
from tests.kubernetes.real.waiting import wait_until

_APISERVER = "kube-apiserver"
_START_SECONDS = 60.0
# What an API server with mutating policies says of a kind until it has looked for new ones, every five seconds.
_NEW_KIND = "There can be a delay between when CustomResourceDefinitions are created and when they are available"
_NEW_KIND_SECONDS = 30.0


class ClusterStartError(Exception):
    """A component of a cluster did not come up; the text ends with what it logged last."""


class KubectlError(Exception):
    """kubectl refused; the text is what it wrote on standard error."""


class RealCluster:
    """One running cluster of upstream components."""

    def __init__(self, name: str, shape: ClusterShape) -> None:
        self.name = name
        self._shape = shape
        self._components = components_folder()
        folder = Path(tempfile.mkdtemp(prefix=f"hanse-{name}-"))
        self.processes = GuardedProcesses(folder)
        self._layout = Layout(folder, etcd_port=free_port(), etcd_peer_port=free_port(), api_port=free_port())
        self.token = write_identity(self._layout, name)
        self._tls = ssl.create_default_context(cafile=str(self._layout.file("ca.crt")))

    @property
    def folder(self) -> Path:
        """The folder with the cluster's data, keys and logs."""
        return self._layout.folder

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self._layout.server

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig; the context NAME signs in by certificate, NAME-token by token."""
        return self._layout.file("kubeconfig")

    def start(self) -> None:
        """Start all components and return when the cluster serves; raises ClusterStartError."""
        self._run("etcd", etcd_flags(self._layout, self._shape))
        self._await("etcd", self._etcd_listens)
        self._start_apiserver()
        if self._shape.scheduler:
            self._run("kube-scheduler", scheduler_flags(self._layout))
        self._run("kube-controller-manager", controller_manager_flags(self._layout, self._shape))
        self._await("kube-controller-manager", self._controllers_act)

    def stop(self) -> None:
        """Kill everything and remove the data."""
        self.processes.close()

    def kill(self) -> None:
        """Kill the API server as a crash would: connections are refused from now on."""
        self.processes.kill(_APISERVER)

    def freeze(self) -> None:
        """Stop the API server in its tracks: connections open, and nothing answers."""
        self.processes.signal(_APISERVER, signal.SIGSTOP)

    def heal(self) -> None:
        """Bring a killed or frozen API server back, at the same address and with the same data."""
        if _APISERVER in self.processes.pids:
            self.processes.signal(_APISERVER, signal.SIGCONT)
            self._await(_APISERVER, self._is_ready)
        else:
            self._start_apiserver()

    def kubectl(self, *arguments: str, input: str | None = None, seconds: float = 60.0) -> str:  # noqa: A002
        """Run the real kubectl as administrator and return what it prints; raises KubectlError.

        A kind that was only just defined is refused for some seconds where a policy is about it: the server says so and
        asks to try again, which is done here as a person would.
        """
        latest = time.monotonic() + _NEW_KIND_SECONDS
        while True:
            done = self._run_kubectl(arguments, input or "", seconds)
            if not done.returncode:
                return done.stdout
            if _NEW_KIND not in done.stderr or time.monotonic() > latest:
                raise KubectlError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
            time.sleep(1.0)

    def _run_kubectl(self, arguments: Sequence[str], given: str, seconds: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._components / "kubectl", f"--kubeconfig={self.kubeconfig}", *arguments],
            input=given,
            capture_output=True,
            text=True,
            timeout=seconds,
            # kubectl keeps a discovery cache in the home folder, which must not outlive the cluster.
            env={"HOME": str(self.folder), "PATH": "/usr/bin:/bin"},
            check=False,
        )

    def get(self, *arguments: str) -> Any:
        """Return what `kubectl get` finds, as a manifest."""
        return json.loads(self.kubectl("get", *arguments, "--output=json"))

    def wait_served(self) -> None:
        """Wait until every custom kind is served; `kubectl wait` fails where nothing was said of a definition yet."""
        wait_until(
            lambda: all(is_true(dig(crd, "status", "conditions"), "Established") for crd in self.get("crds")["items"]),
            seconds=180,
            what="every custom kind is served",
        )

    def run(self, name: str, argv: Sequence[str]) -> int:
        """Start a process that accompanies the cluster and ends with it; return its pid."""
        return self.processes.start(name, argv)

    def start_nodes(
        self, *, index: int = 0, region: str = "", zone: str = "", load_balancers: str = "ip", nodes: int = 3
    ) -> None:
        """Give the cluster simulated nodes on which its pods run; clusters of one test need different indexes."""
        simulator = [sys.executable, "-m", "hanse.simulator", "--nodes-only", f"--nodes={nodes}"]
        place = [f"--index={index}", f"--region={region}", f"--zone={zone}", f"--load-balancers={load_balancers}"]
        if self._shape.tunnels:
            place.append(f"--tunnels={self._layout.file(TUNNELS)}")
        self.run("nodes", [*simulator, "--kubeconfig", str(self.kubeconfig), "--name", self.name, *place])
        self._await("nodes", self._has_ready_node)

    def _start_apiserver(self) -> None:
        if self._shape.tunnels:
            self._layout.file("egress.json").write_text(egress_selection(self._layout))
        self._run(_APISERVER, apiserver_flags(self._layout, self._shape))
        self._await(_APISERVER, self._is_ready)

    def _run(self, component: str, flags: Sequence[str]) -> None:
        self.processes.start(component, [str(self._components / component), *flags])

    def _await(self, component: str, condition: Callable[[], bool]) -> None:
        def settled() -> bool:
            return condition() or self.processes.exit_code(component) is not None

        try:
            wait_until(settled, seconds=_START_SECONDS, what=f"{component} of {self.name} ready")
        except TimeoutError as error:
            raise self._start_error(component, str(error)) from None
        code = self.processes.exit_code(component)
        if code is not None:
            raise self._start_error(component, f"{component} of {self.name} ended with code {code}")

    def _start_error(self, component: str, what: str) -> ClusterStartError:
        return ClusterStartError(f"{what}; its log ends:\n{self.processes.log_tail(component)}")

    def _etcd_listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._layout.etcd_port)) == 0

    def _is_ready(self) -> bool:
        return self._serves("/readyz")

    def _controllers_act(self) -> bool:
        return self._serves("/api/v1/namespaces/default/serviceaccounts/default")

    def _has_ready_node(self) -> bool:
        conditions = [
            condition for node in self.get("nodes")["items"] for condition in node["status"].get("conditions", [])
        ]
        return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)

    def _serves(self, path: str) -> bool:
        request = urllib.request.Request(self.server + path, headers={"Authorization": f"Bearer {self.token}"})
        try:
            with urllib.request.urlopen(request, timeout=2, context=self._tls):
                return True
        except (urllib.error.URLError, OSError):
            return False


@contextmanager
def real_clusters(shapes: Mapping[str, ClusterShape]) -> Iterator[dict[str, RealCluster]]:
    """Run the named clusters for the length of a block; they start side by side."""
    clusters: dict[str, RealCluster] = {}
    try:
        for name, shape in shapes.items():
            clusters[name] = RealCluster(name, shape)
        with ThreadPoolExecutor(max_workers=max(1, len(clusters))) as starters:
            list(starters.map(RealCluster.start, clusters.values()))
        yield clusters
    finally:
        for cluster in clusters.values():
            cluster.stop()
