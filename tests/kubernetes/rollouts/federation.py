"""A real host, a real cluster `kind-app`, `hanse controller` with the real Helm, and people with kubectl."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from hanse.kube import Client, Obj, Resource, SystemRuntime
from hanse.kube.http import HttpTransport
from hanse.kube.kubeconfig import Kubeconfig
from hanse.kube.resources import NAMESPACES
from tests.behaviour.rollouts import CLUSTER, REPOSITORY, SEED
from tests.behaviour.stage import Stage
from tests.e2e.federation import HANSE, run
from tests.kubernetes.real import HOST, MEMBER, KubectlError, RealCluster, real_clusters, wait_until
from tests.kubernetes.real.components import CHECKOUT, find_kubectl
from tests.rollout_charts.repository import Repository, chart_repository

_STOP_SECONDS = 20.0
_SERVED_SECONDS = 60.0


class ByKubectl(Stage):
    """People who write by kubectl; what they wait for is followed by a client."""

    def __init__(self, client: Client, namespace: str, kubectl: Callable[..., str]) -> None:
        super().__init__(client, namespace)
        self._kubectl = kubectl

    async def apply(self, manifest: Obj) -> None:
        """Type `kubectl apply`."""
        await self._type("apply", "--filename=-", typed=json.dumps(manifest))

    async def change(self, resource: Resource, name: str, patch: Obj) -> Obj:
        """Type `kubectl patch`."""
        kind = f"{resource.plural}.{resource.group}"
        done = await self._type("patch", kind, name, "--type=merge", f"--patch={json.dumps(patch)}", "--output=json")
        changed: Obj = json.loads(done)
        return changed

    async def _type(self, *arguments: str, typed: str = "") -> str:
        here = f"--namespace={self.namespace}"
        return await asyncio.to_thread(lambda: self._kubectl(here, *arguments, input=typed))


class RolloutFederation:
    """The clusters, the control plane's process and the repository of charts."""

    def __init__(self, clusters: dict[str, RealCluster], folder: Path, repository: Repository) -> None:
        self.host = clusters["federation"]
        self.member = clusters[CLUSTER]
        self.repository = repository
        self._folder = folder
        self._controller: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the control plane and have the cluster join, in no region that anybody asks for."""
        self.member.start_nodes()
        self._start_controller()
        wait_until(self._takes_applications, seconds=_SERVED_SECONDS, what="applications are taken")
        self.put_in("nowhere")

    def stop(self) -> None:
        """End the control plane."""
        if self._controller is not None:
            self._controller.terminate()
            self._controller.wait(timeout=_STOP_SECONDS)

    def kill_control_plane(self) -> None:
        """End the control plane with SIGKILL and start it again."""
        if self._controller is not None:
            self._controller.kill()
            self._controller.wait(timeout=_STOP_SECONDS)
        self._start_controller()

    def put_in(self, region: str) -> None:
        """Have the cluster be in a region."""
        label = f"--label=topology.kubernetes.io/region={region}"
        known = ["--kubeconfig", str(self.member.kubeconfig), "--host-kubeconfig", str(self.host.kubeconfig)]
        run([*HANSE, "join", CLUSTER, label, "--wait=60", *known], home=self._folder)

    @asynccontextmanager
    async def people(self, namespace: str = "default") -> AsyncIterator[tuple[ByKubectl, Stage]]:
        """Give people a namespace of the federation for the length of a block, and a way to look into the cluster."""
        host, member = client_of(self.host.kubeconfig), client_of(self.member.kubeconfig)
        try:
            await host.apply(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            yield ByKubectl(host, namespace, self.host.kubectl), Stage(member, namespace)
        finally:
            await host.close()
            await member.close()

    def _start_controller(self) -> None:
        environment = {**os.environ, **programs(self.repository)}
        command = [*HANSE, "controller", "--kubeconfig", str(self.host.kubeconfig)]
        with (self._folder / "controller.log").open("ab") as log:
            self._controller = subprocess.Popen(command, stderr=log, cwd=CHECKOUT, env=environment)

    def _takes_applications(self) -> bool:
        """Tell whether an Application would be stored: admission hears of new kinds seconds after they are served."""
        try:
            self.host.kubectl("create", "--dry-run=server", "--filename=-", input=SEED)
        except KubectlError:
            return False
        return True


def programs(repository: Repository) -> dict[str, str]:
    """Return what tells a control plane where Helm and kubectl are, and where the charts of the seed's address."""
    helm = subprocess.run(
        [CHECKOUT / "components" / "build", "--path", "helm"], capture_output=True, text=True, check=True
    )
    return {
        "HANSE_HELM": str(Path(helm.stdout.strip()) / "helm"),
        "HANSE_KUBECTL": str(find_kubectl()),
        "HANSE_CHART_MIRRORS": f"{REPOSITORY}={repository.url}",
    }


def client_of(kubeconfig: Path, context: str = "") -> Client:
    """Return a client of what a kubeconfig names."""
    return Client(HttpTransport(Kubeconfig.load(kubeconfig).endpoint(context)), SystemRuntime())


@contextmanager
def rollout_federation(folder: Path) -> Iterator[RolloutFederation]:
    """Run all of it for the length of a block."""
    with chart_repository() as repository, real_clusters({"federation": HOST, CLUSTER: MEMBER}) as clusters:
        federation = RolloutFederation(clusters, folder, repository)
        try:
            federation.start()
            yield federation
        finally:
            federation.stop()
