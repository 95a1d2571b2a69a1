"""A real KubeFed as its users have it: its chart's CRDs and configuration, kubefedctl join, the controller-manager.

The admission webhooks are left out: they are a second process that only checks and fills in what is written whole here.
Delays are short and reconciles many at a time, so that what KubeFed decides is seen soon; what it decides is its own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.kubernetes.real import RealCluster, wait_until
from tests.kubernetes.real.components import CHECKOUT, ComponentsMissingError
from tests.kubernetes.real.ports import free_port

SYSTEM_NAMESPACE = "kube-federation-system"
_PROCESS = "kubefed-controller-manager"
_VALUES = {
    "clusterAvailableDelay": "1s",
    "clusterUnavailableDelay": "1s",
    "clusterHealthCheckPeriod": "2s",
    # On a busy machine a cluster that is slow to answer must not be taken for a lost one, nor a slow leader.
    "clusterHealthCheckTimeout": "30s",
    "leaderElectLeaseDuration": "15s",
    "leaderElectRenewDeadline": "12s",
    "leaderElectRetryPeriod": "1s",
    "leaderElectResourceLock": "configmaps",
    "featureGates": {"PushReconciler": "Enabled", "SchedulerPreferences": "Enabled"},
    "syncController": {"maxConcurrentReconciles": 10},
    "statusController": {"maxConcurrentReconciles": 2},
}
_SHOWN = ("templates/federatedtypeconfig.yaml", "charts/controllermanager/templates/kubefedconfig.yaml")
_START_SECONDS = 120.0


class KubeFed:
    """KubeFed's control plane on one host."""

    def __init__(self, host: RealCluster) -> None:
        self.host = host
        self._folder = _built("kubefed")
        self._helm = _built("helm") / "helm"

    def install(self) -> None:
        """Give the host KubeFed's kinds, its configuration and the types that its chart federates."""
        chart = str(self._folder / "chart")
        self.host.kubectl("create", "namespace", SYSTEM_NAMESPACE)
        self._apply(self._run(self._helm, "show", "crds", chart))
        self.host.wait_served()
        values = self.host.folder / "kubefed-values.yaml"
        values.write_text(yaml.safe_dump({"controllermanager": _VALUES}))
        shown = [f"--show-only={template}" for template in _SHOWN]
        named = ("template", "kubefed", chart, f"--namespace={SYSTEM_NAMESPACE}", f"--values={values}", *shown)
        self._apply(self._run(self._helm, *named))

    def join(self, members: Mapping[str, RealCluster]) -> None:
        """Make clusters members under these names, with kubefedctl."""
        kubeconfig = self.host.folder / "kubefed-kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(_merged([self.host, *members.values()])))
        for name, member in members.items():
            contexts = (f"--host-cluster-context={self.host.name}", f"--cluster-context={member.name}")
            self._run(self._folder / "kubefedctl", "join", name, f"--kubeconfig={kubeconfig}", *contexts)

    def start(self) -> int:
        """Start the controller-manager; returns its pid when every type propagates and every cluster is ready."""
        ports = (f"--healthz-addr=127.0.0.1:{free_port()}", f"--metrics-addr=127.0.0.1:{free_port()}")
        program = [str(self._folder / "controller-manager"), f"--kubeconfig={self.host.kubeconfig}"]
        pid = self.host.run(_PROCESS, [*program, f"--kubefed-namespace={SYSTEM_NAMESPACE}", *ports, "--v=2"])
        try:
            wait_until(self._works, seconds=_START_SECONDS, what="KubeFed propagates")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; its log ends:\n{self.host.processes.log_tail(_PROCESS)}") from None
        return pid

    def stop(self) -> None:
        """End the controller-manager at once; what it wrote stays, its finalizers and its lock included."""
        self.host.processes.kill(_PROCESS)

    def _works(self) -> bool:
        if self.host.processes.exit_code(_PROCESS) is not None:
            raise TimeoutError("KubeFed's controller-manager has ended")
        return self._all("kubefedclusters", _is_ready) and self._all("federatedtypeconfigs", _is_running)

    def _all(self, kind: str, holds: Callable[[Any], bool]) -> bool:
        found = self.host.get(f"{kind}.core.kubefed.io", f"--namespace={SYSTEM_NAMESPACE}")["items"]
        return bool(found) and all(holds(obj.get("status") or {}) for obj in found)

    def _apply(self, manifests: str) -> None:
        self.host.kubectl("apply", "--server-side", f"--namespace={SYSTEM_NAMESPACE}", "--filename=-", input=manifests)

    def _run(self, *command: str | Path) -> str:
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=120,
            env={"HOME": str(self.host.folder), "PATH": "/usr/bin:/bin"},
            check=False,
        )
        assert done.returncode == 0, f"{command[:3]}: {done.stderr}"
        return done.stdout


def _built(module: str) -> Path:
    recipe = CHECKOUT / "components" / "build"
    found = subprocess.run([recipe, "--path", module], capture_output=True, text=True, check=True)
    folder = Path(found.stdout.strip())
    if not folder.is_dir():
        raise ComponentsMissingError(f"{module} was not built: run `make kubernetes`")
    return folder


def _merged(clusters: list[RealCluster]) -> dict[str, object]:
    read = [yaml.safe_load(cluster.kubeconfig.read_text()) for cluster in clusters]
    merged: dict[str, object] = {"apiVersion": "v1", "kind": "Config", "current-context": clusters[0].name}
    for part in ("clusters", "contexts"):
        merged[part] = [entry for config in read for entry in config[part] if not entry["name"].endswith("-token")]
    merged["users"] = [entry for config in read for entry in config["users"] if not entry["name"].endswith("-token")]
    return merged


def _is_ready(status: dict[str, list[dict[str, str]]]) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions") or [])


def _is_running(status: dict[str, str]) -> bool:
    return status.get("propagationController") == "Running"
